"""Where a recipe may send a release."""

from urllib.parse import urlsplit

HUB = "hf://datasets/"


def check_target(url: str) -> str:
    """The URL itself.

    Raises:
        ValueError: no URL, or one with a key in it.
    """
    parts = urlsplit(url)
    if not parts.scheme or not (parts.netloc or parts.path):
        raise ValueError(f"{url!r} is no URL such as s3://bucket/folder or {HUB}owner/name")
    if "@" in parts.netloc or parts.query:
        raise ValueError("keys come from the environment, never from a URL")
    if url.startswith(HUB) and len(url.removeprefix(HUB).split("/")) != 2:
        raise ValueError(f"{url!r} must be {HUB}owner/name")
    return url
