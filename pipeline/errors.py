"""One class per kind of trouble that the user can act on. The command line shows the text alone."""


class KernelsetError(Exception):
    """Something the user can mend; the message names the file, row or key and what to do."""

    exit_code = 1


class UsageError(KernelsetError):
    """The command or recipe asks for something that does not exist."""

    exit_code = 2


class RecipeError(UsageError):
    """A recipe file is malformed: names the file and the key."""


class StoreBusy(KernelsetError):
    """Another run holds the store."""

    exit_code = 3


class StoreError(KernelsetError):
    """The store can't be read or written: full disk, damaged file, newer version."""


class ClusterLost(KernelsetError):
    """The Dask scheduler is gone, or all its workers are."""


class SourceError(KernelsetError):
    """A source can't be fetched or is not what its pin says."""


class StaleFingerprint(KernelsetError):
    """A benchmark fingerprint was made by other rules than those in force."""


class EmptyRun(KernelsetError):
    """No row reached the release."""
