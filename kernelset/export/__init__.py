"""Exports: problems in the form that a trainer reads as it is.

Each format is one file here: a function that takes `Item`s and fills a folder. Whatever the format,
a row carries the program at each shape, the row's tolerance, the accepted baselines, the roofline
facts and the reward's formula, so that a reward can be computed from the row alone.
"""

from kernelset.export.facts import SHAPE_CHOICES
from kernelset.export.write import FORMATS, Request, export

__all__ = ["FORMATS", "SHAPE_CHOICES", "Request", "export"]
