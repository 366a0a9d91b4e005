"""Where the app and the checkpoints lie: in a checkout at its root, in an installed package inside it (hatch_build.py).

Standard library only.
"""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
VARIABLE = "HEADSCOPE_CHECKPOINTS"


def app_folder() -> Path:
    """The folder of app.py, pages/, locale/ and .streamlit/."""
    packaged = PACKAGE / "_app"
    return packaged if packaged.is_dir() else PACKAGE.parent


def checkpoint_folders() -> list[Path]:
    """Folders whose sub-folders are checkpoints, the first to be asked first.

    Those that HEADSCOPE_CHECKPOINTS names (separated as in PATH), then the one beside app.py. A folder need not exist.
    """
    named = os.environ.get(VARIABLE, "").split(os.pathsep)
    folders = [Path(name).expanduser() for name in named if name.strip()]
    return list(dict.fromkeys([*folders, app_folder() / "checkpoints"]))
