"""`make texts`: write locale/headscope.pot, every text of the app that goes through `_`, for translators."""

from __future__ import annotations

import io
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import write_po

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = ROOT / "locale" / "headscope.pot"
HEADER = """\
# Translations template for Headscope.
# Copyright (C) 2026 The Headscope authors
# This file is distributed under the same license as the Headscope project.
#"""


def template() -> bytes:
    """The template as it should be; without dates, so that it changes only when a text does."""
    catalog = Catalog(project="Headscope", version="0.1.0", header_comment=HEADER, fuzzy=True)
    for folder in (ROOT, ROOT / "pages"):
        only_app = (lambda name: False) if folder == ROOT else None
        method = [("app.py", "python")] if folder == ROOT else [("**.py", "python")]
        for _, _, message, comments, context in extract_from_dir(folder, method, directory_filter=only_app):
            catalog.add(message, auto_comments=comments, context=context)
    written = io.BytesIO()
    write_po(written, catalog, width=119, no_location=True)
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
