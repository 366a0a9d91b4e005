"""Wait until a page has stopped changing, instead of for a fixed time."""

from playwright.sync_api import Page

# Four looks, 40 ms apart: the same elements and drawings, every figure drawn, no script or transition running.
STILL = """async () => {
  const waits = (element) =>
    element.matches("figure.hs-fig:not([data-drawn])") && element.checkVisibility() &&
    !element.querySelector(".hs-fig-error:not([hidden])");
  const moves = ({ playState, effect }) => playState === "running" && effect.getComputedTiming().endTime < 5000;
  const look = () => {
    const app = document.querySelector("[data-testid=stApp]");
    if (app && app.dataset.testScriptState !== "notRunning") return null;
    if (document.getAnimations().some(moves)) return null;
    const marks = [];
    const walk = (root) => root.querySelectorAll("*").forEach((element) => {
      marks.push(waits(element) ? Math.random() : element.dataset && element.dataset.drawn || "");
      if (element.shadowRoot) walk(element.shadowRoot);
    });
    walk(document);
    return marks.join();
  };
  let before = null;
  for (let same = 0, looks = 0; same < 4 && looks < 300; looks++) {
    await new Promise((done) => setTimeout(done, 40));
    const current = look();
    same = current !== null && current === before ? same + 1 : 0;
    before = current;
  }
}"""


def still(page: Page) -> None:
    """Wait until no Streamlit script runs and all drawing has ended."""
    page.evaluate(STILL)
