"""The little picture of a lesson: NAME.webp beside NAME.toml, 320 x 200 pixels.

`make screenshots ARGS="--lessons lessons"` takes those of the shipped ones; a teacher may lay one beside an own file.
"""

import base64
from functools import cache

from transformer.paths import lesson_folders


@cache
def thumbnail(name: str) -> str:
    """A data address of it, for an img; "" for a lesson without one."""
    files = [folder / f"{name}.webp" for folder in lesson_folders()]
    found = next((path for path in files if path.is_file()), None)
    return f"data:image/webp;base64,{base64.b64encode(found.read_bytes()).decode()}" if found else ""
