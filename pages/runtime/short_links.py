"""Short links: a code of six characters for the parameters of a link, kept by this process while it runs."""

import base64
import hashlib
import json
from collections.abc import Mapping

from pages.runtime.shared import SharedCache

PARAM = "s"  # in links; replaced by the parameters that it stands for
LENGTH = 6  # characters of a code, of 32 kinds
MOST = 1000  # codes; the one that was not used for the longest time goes first
LARGEST = 4000  # characters of the parameters of a link

# They stay when others need room: all of them take 8 MB, and nothing can make one again.
LINKS: SharedCache[str] = SharedCache("short links", pins=lambda _, __: True, most=MOST)


def shorten(params: Mapping[str, str]) -> str | None:
    """The code of a link; equal links have equal codes. None if it is too long to be kept."""
    text = json.dumps(dict(params), sort_keys=True)
    if len(text) > LARGEST:
        return None
    code = base64.b32encode(hashlib.sha256(text.encode()).digest())[:LENGTH].decode().lower()
    LINKS.store(code, text)
    return code


def find(code: str) -> dict[str, str] | None:
    """The parameters that a code stands for; None if this process does not know it (any more)."""
    text = LINKS.find(code.strip().lower())
    if text is None:
        return None
    return {str(name): str(value) for name, value in json.loads(text).items()}
