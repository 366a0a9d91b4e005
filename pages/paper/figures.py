"""Figures 1 and 2 of the paper as a Streamlit component: every box opens the view that shows it."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from transformer.model.config import ModelConfig
from transformer.view.bundle import script, style
from transformer.view.languages import browser_texts

_picture = st.components.v2.component("headscope.paper", js=script("paper"), css=style("paper"))
# Sizes of the paper's base model, Table 3.
BASE = {"layers": 6, "d_model": 512, "d_ff": 2048, "heads": 8, "d_k": 64, "d_v": 64}
BASE_PARAMETERS, BIG_PARAMETERS = 65_000_000, 213_000_000


def sizes(config: ModelConfig) -> dict[str, int]:
    """The sizes of a model under the names of `BASE`; layers: those of the encoder, decoder_layers: of the decoder."""
    return {
        "layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "d_model": config.d_model,
        "d_ff": config.d_ff,
        "heads": config.heads,
        "d_k": config.d_k or config.d_head,
        "d_v": config.d_head,
    }


def draw(config: ModelConfig, big: bool, links: Mapping[str, tuple[str, str, str]]) -> None:
    """links: name of a box -> key of the container with its link, address, label."""
    data: dict[str, Any] = {
        "base": BASE,
        "here": sizes(config),
        "parts": {
            "mask": config.causal,
            "scale": config.scaling,
            "residual": config.residual,
            "norm": config.norm,
            "positions": config.positions,
        },
        "links": {name: {"key": key, "href": href, "label": label} for name, (key, href, label) in links.items()},
        "big": big,
        "texts": browser_texts("paper"),
    }
    _picture(key="paper", data=data)
