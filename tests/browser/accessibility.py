"""axe-core and the questions of accessibility.js."""

from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")  # no network, no npm
# axe leaves this one out unless asked; WCAG 2.2 AA asks for 24 by 24 pixels, or as much room around.
RULES = "{resultTypes: ['violations'], rules: {'target-size': {enabled: true}}}"
RUN = f"async () => (await axe.run(document, {RULES})).violations"
HELP = Path(__file__).with_name("accessibility.js").read_text(encoding="utf-8")
WIDER = "document.querySelector('main, body').scrollWidth - document.querySelector('main, body').clientWidth"


def findings(page: Page) -> list[str]:
    """What axe finds: every serious and critical thing, and moderate ones too."""
    if not page.evaluate("typeof axe !== 'undefined'"):
        page.evaluate(AXE)
    return [
        f"{rule['impact']} {rule['id']}: {node['html'][:160]}: {[*node['any'], *node['all'], *node['none']][:1]}"
        for rule in page.evaluate(RUN)
        for node in rule["nodes"]
        if rule["impact"] != "minor"
    ]
