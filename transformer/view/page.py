"""The picture without a server: a self-contained HTML page, and the same page in a notebook cell."""

import base64
import html

from transformer.texts import _, reader_language
from transformer.tracing.trace import Trace
from transformer.view.bundle import script, style
from transformer.view.pack import full_pack
from transformer.view.state import View

_PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; \
style-src 'unsafe-inline'; img-src data: blob:">
<title>{title}</title>
<style>{page_style}</style>
<style id="explorer-css" media="not all">{style}</style>
</head>
<body>
<header><h1>Head<i>scope</i></h1> <span>{heading}</span></header>
<main id="explorer"></main>
<noscript>{noscript}</noscript>
<script type="application/octet-stream;base64" id="pack">{pack}</script>
<script type="module">{script}</script>
</body>
</html>
"""

_PAGE_STYLE = """
:root{color-scheme:light dark;--st-background-color:#fcfcfb;--st-secondary-background-color:#f1f2f4;
--st-text-color:#16181d;--st-border-color:#e3e5e8}
@media (prefers-color-scheme:dark){:root{--st-background-color:#101216;--st-secondary-background-color:#20242c;
--st-text-color:#e8eaee;--st-border-color:#2a2f38}}
body{margin:0;background:var(--st-background-color);color:var(--st-text-color);
font:15px/1.45 system-ui,"Segoe UI",sans-serif}
header{padding:10px 16px;border-bottom:1px solid var(--st-border-color);overflow-wrap:anywhere}
header h1{display:inline;font-size:1em;margin:0}
header i{font-style:normal;color:light-dark(#7a2f8f,#d795ea)}header span{opacity:.75;margin-left:12px}
main{padding:12px 16px}
:lang(ko){word-break:keep-all;overflow-wrap:break-word}
"""


def html_page(trace: Trace, view: View | None = None) -> str:
    """One HTML file that shows the explorer for this trace, offline, with hover and click.

    It holds the exact numbers of every head: about 95 KB x n at the size of the bundled model and n tokens a side up to
    40, more beyond (the matrices grow with n squared).
    """
    start = view or View()
    pack = base64.b64encode(full_pack(trace, start, exact=True)).decode("ascii")
    heading = f"{trace.source_text} → {trace.target_text}"
    if trace.interventions:
        heading = _("{heading} · switched: {switches}", heading=heading, switches=trace.interventions)
    if trace.edits:
        heading = _("{heading} · edited: {names}", heading=heading, names=" ".join(trace.edits))
    title = f"Headscope: {heading}"[:200]
    return _PAGE.format(
        language=reader_language().code,
        noscript=_("This page needs JavaScript to draw the attention maps."),
        title=html.escape(title.encode("utf-8", "replace").decode()),
        heading=html.escape(heading.encode("utf-8", "replace").decode()),
        page_style=_PAGE_STYLE,
        style=style("page"),
        pack=pack,
        script=script("page"),  # built with every `</script` escaped
    )


def notebook_cell(trace: Trace, height: int = 760) -> str:
    """The same page in its own frame, so that the styles of the notebook and of the page do not mix."""
    page = html.escape(html_page(trace), quote=True)
    return (
        f'<iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" title="Headscope" '
        f'style="width:100%;height:{height}px;border:0"></iframe>'
    )
