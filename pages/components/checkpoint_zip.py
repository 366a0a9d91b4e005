"""The button that downloads a session's model as a zip."""

import streamlit as st

from pages.runtime.session_models import PREFIX
from transformer.checkpoints.archive import safe_name
from transformer.texts import _


def download_button(name: str, data: bytes, key: str) -> None:
    """A download button for the zip of one model."""
    st.download_button(
        _("Download (zip)"),
        lambda: data,
        f"{safe_name(name.removeprefix(PREFIX))}.zip",
        "application/zip",
        key=key,
        on_click="ignore",
        help=_(
            "The folder of the checkpoint: for headscope --checkpoint, for transformer.load, or to load here again."
        ),
    )
