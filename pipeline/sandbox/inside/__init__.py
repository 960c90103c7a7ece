"""The half of the sandbox that runs in the fork server and in its children.

Everything in this folder imports only the standard library and torch, because the server loads it
as a package of its own (`inside`), without the rest of the project.
"""
