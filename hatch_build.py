"""Build hook: the app travels inside the wheel, so that `headscope` starts it from any folder, checkpoint included."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What `transformer.paths.app_folder` expects beside each other. In a checkout they lie at its root.
APP = (
    "pages",
    "checkpoints",
    "lessons",
    "locale",
    "recipes/en-de.own.tsv",
    "recipes/en-de.toml",
    "recipes/reverse.toml",
)


class AppHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # runs from the checkout itself; a copy would only grow old
            return
        for name in APP:
            path = Path(self.root) / name
            if path.exists():
                build_data["force_include"][str(path)] = f"transformer/_app/{name}"
