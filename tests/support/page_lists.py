"""What the pages say of themselves, for every list of them: the READMEs and the list of links (documents.py)."""

from collections.abc import Callable
from urllib.parse import parse_qsl, urlsplit

from pages.registry import pages
from transformer.view.languages import load_language


def parsed(link: str) -> tuple[str, dict[str, str]]:
    """Path and parameters."""
    parts = urlsplit(link)
    return parts.path.removeprefix("/"), dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))


def table(text: str, head: str, code: str) -> str:
    """The text with the table under this head written anew, in a language."""
    before, _, rest = text.partition(f"{head}\n|---|---|\n")
    said = load_language(code).translations
    rows = [f"| {said.get(page.title, page.title)} | {said.get(page.about, page.about)} |\n" for page in pages()]
    written = "".join(rows).replace("\N{WORD JOINER}", "")
    return f"{before}{head}\n|---|---|\n{written}\n" + rest.partition("\n\n")[2]


def links(text: str) -> str:
    """The list with a link to every part: a new part gets one at the end, and no link ever goes."""
    first = {page.path: next(iter(page.content.parts()), "") for page in pages()}
    known = {(path, params.get("part") or first.get(path, "")) for path, params in map(parsed, text.splitlines()[1:])}
    there = [(page.path, part) for page in pages() for part in page.content.parts() or ("",)]
    new = [f"/{path}?part={part}" if part else f"/{path}" for path, part in there if (path, part) not in known]
    return text + "".join(f"{link}\n" for link in new)


LISTS: dict[str, Callable[[str], str]] = {  # file -> its text anew, from its text
    "README.md": lambda text: table(text, "| page | what it shows |", "en"),
    "README.ko.md": lambda text: table(text, "| 페이지 | 내용 |", "ko"),
    "tests/pages/links.txt": links,
}
