"""Folders of the app and the checkpoints: the root of a checkout, or inside an installed package (hatch_build.py).

Uses only the standard library.
"""

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
VARIABLE, LESSONS = "HEADSCOPE_CHECKPOINTS", "HEADSCOPE_LESSONS"


def app_folder() -> Path:
    """The folder of pages/, checkpoints/, lessons/ and locale/."""
    packaged = PACKAGE / "_app"
    return packaged if packaged.is_dir() else PACKAGE.parent


def checkpoint_folders() -> list[Path]:
    """Folders whose sub-folders are checkpoints, in the order of the search.

    First those in HEADSCOPE_CHECKPOINTS (separated as in PATH), then the one beside pages/. A folder may be missing.
    """
    named = os.environ.get(VARIABLE, "").split(os.pathsep)
    folders = [Path(name).expanduser() for name in named if name.strip()]
    return list(dict.fromkeys([*folders, app_folder() / "checkpoints"]))


def lesson_folders() -> list[Path]:
    """Folders with lesson files: the app's, then the server's own, HEADSCOPE_LESSONS. A folder may be missing."""
    own = os.environ.get(LESSONS, "").strip()
    return [app_folder() / "lessons", *([Path(own).expanduser()] if own else [])]
