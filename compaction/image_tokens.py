"""How many tokens an image part costs, by OpenAI's tile rule, from the size in the file's header.

Source: OpenAI, "Images and vision", "Calculating costs" (GPT-4o family: 85 + 170 per 512 px tile).
"""

import base64
import binascii
import struct
from math import ceil
from typing import Final

from compaction.messages import Json

LOW_DETAIL_TOKENS: Final = 85
TILE_TOKENS: Final = 170
TILE_PX: Final = 512
MAX_SIDE_PX: Final = 2048
SHORT_SIDE_PX: Final = 768
UNKNOWN_SIZE_PX: Final = (1024, 1024)
"""Taken for images behind a web address and for formats whose header is not read."""

_HEADER_CHARS: Final = 400_000
"""Enough base64 for the frame header of a JPEG behind a large preview."""


def image_tokens(part: Json) -> int:
    """Return the tokens of an `image_url` part."""
    given = part.get("image_url")
    image = given if isinstance(given, dict) else {"url": given}
    if image.get("detail") == "low":
        return LOW_DETAIL_TOKENS
    width, height = _size_of(str(image.get("url") or "")) or UNKNOWN_SIZE_PX
    scale = min(1.0, MAX_SIDE_PX / max(width, height, 1))
    width, height = max(1, round(width * scale)), max(1, round(height * scale))
    scale = min(1.0, SHORT_SIDE_PX / min(width, height))
    tiles = ceil(width * scale / TILE_PX) * ceil(height * scale / TILE_PX)
    return LOW_DETAIL_TOKENS + TILE_TOKENS * tiles


def _size_of(url: str) -> tuple[int, int] | None:
    """Return width and height in pixels of a data URL, or None if its header is not understood."""
    if not url.startswith("data:") or "," not in url:
        return None
    encoded = url.split(",", 1)[1][:_HEADER_CHARS]
    try:
        data = base64.b64decode(encoded[: len(encoded) // 4 * 4])
    except (binascii.Error, ValueError):
        return None
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:
        return _at(data, ">II", 16)
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        return _at(data, "<HH", 6)
    if data.startswith(b"\xff\xd8"):
        return _jpeg_size(data)
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    position = 2
    while position + 9 <= len(data) and data[position] == 0xFF:
        marker = data[position + 1]
        # C0-CF are frame headers except the tables C4, C8 and CC.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = _at(data, ">HH", position + 5)
            return width, height
        position += 2 + int.from_bytes(data[position + 2 : position + 4], "big")
    return None


def _at(data: bytes, layout: str, offset: int) -> tuple[int, int]:
    first, second = struct.unpack_from(layout, data, offset)
    return first, second
