"""The pages of the site without a server (frontend/src/site/pages/), in the order of its header. The first one has the
site's own address. `generate` hands them to the browser.

parts: those of the app's page that the site has. styles: style sheets of `dist/`. own: options of the page in links
that are called as a part of the view.
"""

SITE_PAGES: dict[str, dict[str, list[str]]] = {
    "heads": {"parts": [], "styles": ["explorer", "formation"], "own": []},
    "lessons": {"parts": [], "styles": [], "own": []},
    "anatomy": {"parts": ["flow"], "styles": ["anatomy"], "own": ["head"]},
    "decoding": {"parts": ["step"], "styles": ["decoding"], "own": []},
    "positions": {"parts": ["encoding", "distance"], "styles": ["positions"], "own": []},
    "feedforward": {"parts": ["activity"], "styles": ["feedforward"], "own": ["layer", "threshold"]},
    "lab": {
        "parts": ["compare", "measures", "scaling", "softmax"],
        "styles": ["lab", "measures", "softmax", "why"],
        "own": [],
    },
    "training": {"parts": [], "styles": ["training"], "own": ["kind", "layer", "head", "rows"]},
}
