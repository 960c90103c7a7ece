"""What can be wrong with a release, or with a question about one of its rows."""

from pipeline.errors import KernelsetError, UsageError


class ReleaseError(KernelsetError):
    """A release can't be used: a shard is missing or damaged, the schema is older, no row fits."""


class UnknownShape(UsageError):
    """The problem has no such shape; the message lists those it has."""


class MissingBaseline(KernelsetError):
    """There is no usable time for this device, shape and mode; the message lists what there is."""
