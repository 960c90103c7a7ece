"""Sampling: a small subset that is spread over what there is, as in arXiv 2602.11000.

    filters      which rows may be drawn: levels, window of run times, source
    vectors      an embedding of each row's canonical code
    clusters     k-means over them (k = 50)
    allocation   how many of each cluster: weights 1 / log(rows + 1), stochastic rounding
    draw         which: without replacement, uniform within a cluster
    groups       what may not be torn apart: one origin, one family, near copies
    split        train and validation, whole groups only
    write        Parquet shards and a manifest that says how to make the same again

Everything random comes from sha256 of the seed, not from a library's generator: the same seed gives
the same subset on any version of numpy, and a larger size repeats most of a smaller one.
"""

from kernelset.sample.filters import Filters
from kernelset.sample.make import Request, sample

__all__ = ["Filters", "Request", "sample"]
