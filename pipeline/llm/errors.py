"""What the user can mend about an endpoint."""

from pipeline.errors import KernelsetError


class EndpointError(KernelsetError):
    """The endpoint can't answer any question as things stand: key, model name, a parameter."""
