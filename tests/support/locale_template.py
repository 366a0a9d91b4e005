"""`make texts`: write locale/headscope.pot, for translators: every text of the app that goes through `_`, and labels of
figures, which `N_` marks."""

from __future__ import annotations

import ast
import io
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "locale" / "headscope.pot"
HEADER = """\
# Translations template for Headscope.
# Copyright (C) 2026 The Headscope authors
# This file is distributed under the same license as the Headscope project.
#"""


def texts(code: str) -> list[str]:
    """The texts that go through `_` or `N_`, in order. Babel's own reader sees those inside f-strings from Python 3.12
    on only, where they are separate tokens."""
    calls = [
        node
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("_", "N_")
    ]
    found = []
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        (text,) = call.args
        if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
            raise ValueError(f"line {call.lineno}: {ast.unparse(call)} needs a text as it stands")
        found.append(text.value)
    return found


def template() -> bytes:
    """The template as it should be; without dates, so that it changes only when a text does."""
    catalog = Catalog(project="Headscope", version="0.1.0", header_comment=HEADER, fuzzy=True)
    for path in (ROOT / "app.py", *sorted([*ROOT.glob("pages/**/*.py"), *ROOT.glob("transformer/figures/*.py")])):
        for message in texts(path.read_text(encoding="utf-8")):
            catalog.add(message)
    written = io.BytesIO()
    write_po(written, catalog, width=119, no_location=True, sort_output=True)
    dated = (
        "POT-Creation-Date",
        "PO-Revision-Date",
        "Last-Translator",
        "Language-Team",
        "Report-Msgid-Bugs-To",
        "Generated-By",
    )
    rows = written.getvalue().decode("utf-8").split("\n")
    return "\n".join(row for row in rows if not row.startswith(tuple(f'"{name}' for name in dated))).encode("utf-8")


if __name__ == "__main__":
    TEMPLATE.write_bytes(template())
