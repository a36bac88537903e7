"""Media inside a data URL, as `data:image/png;base64,...`."""

from typing import NamedTuple


class Inline(NamedTuple):
    media_type: str
    data: str
    """Base64."""


def data_url(url: str) -> Inline | None:
    """Return what a base64 data URL holds, or None for any other address."""
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    media_type = head.removeprefix("data:").partition(";")[0]
    return Inline(media_type or "application/octet-stream", data)
