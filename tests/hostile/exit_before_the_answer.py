"""Ends well, but without an answer."""

import os

os._exit(0)
