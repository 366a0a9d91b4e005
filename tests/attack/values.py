"""Values that no page of ours sends: for every widget and every event of a page, in its links, and around them.

`python -m tests.attack.values [PAGE ...]` sends all of them to every part of every page, and prints what went wrong,
with a line for each page and for each kind of attack. `--host HOST --log FILE` attacks a server that runs already.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamlit.proto.Common_pb2 import DoubleArray, FileUploaderState, SInt64Array, StringArray
from websockets.exceptions import WebSocketException

from pages.frame.options import PANEL
from pages.registry import pages
from tests.attack.client import Attacker, run
from tests.support.server import start, stop
from tests.support.viewer import INTERNAL, ViewerError
from transformer.interventions.sets import Interventions
from transformer.view.state import View

MARK = "Never in a log: tomorrow I sing."  # a sentence that somebody typed
TYPED = re.compile(r"tomorrow|Never in a log")
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
DEEP = "[" * 900 + "]" * 900
PATIENCE = 30.0  # seconds for one answer

# What a component reports: by the names that our components use, each with a value of another kind than expected.
REPORTS = ("view", "lab", "ask", "command", "values", "anatomy", "training", "formation", "pick", "open", "close",
           "file", "frame", "measure", "shown")  # fmt: skip
FIELDS = ("kind", "layer", "head", "rows", "pieces", "special", "scale", "summary", "threshold", "view", "cell", "big",
          "meanings",
          "training", "switches", "cards", "row", "pane", "step", "depth", "d_k", "quantity", "scores",
          "temperature", "chosen", "d_model", "length", "dims", "zoom", "place", "encoder", "decoder", "matrix", "col",
          "t", "opened", "tempo", "run", "have", "scene", "number", "do", "words", "vector", "text", "name", "data",
          "k", "q", "seed")  # fmt: skip
ODD = ("NaN", "1e999", "-1e999", "1" + "0" * 400, "-1", "0.5", "true", "null", '""', json.dumps(MARK), "[]", "[NaN]",
       '[{}, "cross", 1e999]', '["cross", NaN, 0]', "{}", '{"step": [NaN]}', '"\\ud800"',
       '"__proto__"', DEEP)  # fmt: skip


def reports(odd: str) -> tuple[str, str]:
    """What a component could report: this JSON itself, and a state whose fields all are this JSON."""
    state = "{" + ",".join(f'"{name}": {odd}' for name in FIELDS) + ', "revision": REVISION}'
    return tuple("{" + ",".join(f'"{name}": {value}' for name in REPORTS) + "}" for value in (odd, state))  # type: ignore[return-value]


BY_KIND: dict[str, tuple[dict[str, Any], ...]] = {
    "another type": ({}, {"trigger_value": True}, {"bool_value": True}, {"bool_value": False}),
    "numbers": (
        *({"double_value": value} for value in (math.nan, math.inf, -math.inf, 1e308, -0.5, 2.0**63)),
        *({"int_value": value} for value in (0, -1, 2**63 - 1, -(2**63))),
    ),
    "texts": tuple({"string_value": value} for value in ("", MARK, "\u202e\x00", "x" * 50_000)),
    "lists": (
        *({"double_array_value": DoubleArray(data=value)} for value in ((), (math.nan,), (1.0, 2.0))),
        *({"int_array_value": SInt64Array(data=value)} for value in ((), (2**62,), (0, 0))),
        *({"string_array_value": StringArray(data=value)} for value in ((), ("",), (MARK,), ("a", "b"))),
    ),
    "JSON": (
        *({"json_value": value} for value in ("", "null", "[]", "{}", "7", '{"view": 7}')),
        *({"json_value": json.dumps({name: {"revision": [MARK]} for name in REPORTS})},),
    ),
    "bytes and files": ({"bytes_value": MARK.encode()}, {"file_uploader_state_value": FileUploaderState()}),
}
VALUES = tuple(value for values in BY_KIND.values() for value in values)
COMPONENT = tuple({"json_value": value} for odd in ODD for value in reports(odd))
EVENTS: tuple[dict[str, Any], ...] = (
    *({"json_trigger_value": value} for value in ("", "{", "[]", "[7]", '[{"event": 7}]', '{"event": "file"}')),
    *(
        {"json_trigger_value": "[" + ",".join(f'{{"event": "{name}", "value": {odd}}}' for name in REPORTS) + "]"}
        for odd in (*ODD, '{"name": 7, "data": "="}', '{"name": "a.zip", "data": "!"}')
    ),
    {"string_value": MARK},
)
PARAMETERS = (
    "", "x" * 5_000, "NaN", "inf", "-1", "1e308", "9" * 400, "0.5", "[]", '{"a": 1}', "__proto__", MARK,
    "<img src=x onerror=alert(1)>", "\u202e\u2066RTL", "a\x00b", "\u0663", "%", ("1", "2"),
)  # fmt: skip
SHARED = tuple(dict.fromkeys((*View().to_browser(), "training", *Interventions.PARAMS, PANEL, "__proto__")))
ALONE = ("checkpoint", "source", "target", "open", "s", "lang", "big", "part")  # each decides what the others mean
URLS = ("", "http://[", "http://a:b:c/", "http://localhost:99999999/", "javascript:alert(1)", "\x00", "x" * 5_000, MARK)


# -- what is attacked -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """One link of a page. opens: a second model, opened in the menu. menus: whether those of the header are open.
    again: whether widgets that were attacked on another link of the page are attacked again."""

    page: str
    params: dict[str, str] = field(default_factory=dict)
    opens: str = ""
    menus: bool = False
    again: bool = False

    def __str__(self) -> str:
        params = [f"{name}={text}" for name, text in self.params.items()]
        return " ".join([self.page or "heads", *params, *([f"then {self.opens}"] if self.opens else [])])


def targets(page: str) -> list[Target]:
    """Every part of a page, and what brings other widgets: switches, another model, a recorded training, a panel."""
    found = next(entry for entry in pages() if page in (entry.path, entry.name))
    path, content = found.path, found.content
    links = [{"part": part, PANEL: "about"} for part in content.parts()] or [{PANEL: "about"}]
    more: dict[str, Sequence[dict[str, str]]] = {
        "": ({"training": "0"}, {"checkpoint": "sort", "view": "lines"}, {"kind": "all"}),
        "lab": ({"scaling": "off", "zero": "cross.1.1", "try": "nothing", "cards": "open"}, {"checkpoint": "sort"},
                {"part": "measures", "zero": "cross.1.1"}),
        "positions": ({"part": "learned", "checkpoint": "reverse-learned"}, {"part": "lab", "positions": "remove"}),
        "feedforward": ({"part": "knock", "neurons": "decoder.1.17", "skip": "encoder.2.ff"},
                        {"part": "neurons", "checkpoint": "reverse-gelu"}),
        "anatomy": ({"zoom": "number", "place": "decoder.cross"},),
    }  # fmt: skip
    return [
        *(Target(path, params, menus=not number) for number, params in enumerate(links)),
        *(Target(path, params, again=True) for params in more.get(path, ())),
        Target(path, opens="reverse", again=True),
    ]


def names_in_link(page: str) -> tuple[str, ...]:
    """Every parameter that a link of the page can have."""
    content = next(entry for entry in pages() if page in (entry.path, entry.name)).content
    return tuple(dict.fromkeys((*content.names, *SHARED)))


# -- what went wrong --------------------------------------------------------------------------------------------------


@dataclass
class Count:
    """sent: values; boxes: of Streamlit, for errors; broken: sessions that were not whole afterwards; lines: values
    with more than one line in the log; texts: values with a typed text or a session's id in the log."""

    sent: int = 0
    boxes: int = 0
    broken: int = 0
    lines: int = 0
    texts: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(**{name: value + getattr(other, name) for name, value in vars(self).items()})


HEADER = ("", "values", "error boxes", "broken sessions", "more than 1 line", "texts in log")


@dataclass
class Report:
    """counts: (page, kind of attack) -> numbers; wrong: a line for everything that went wrong."""

    log: Path | None = None
    counts: dict[tuple[str, str], Count] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    _read: int = 0

    def skip_log(self) -> None:
        if self.log is not None:
            self._read = self.log.stat().st_size

    def note(self, page: str, kind: str, what: str, errors: Collection[str], broken: str = "", sent: int = 1) -> None:
        """The outcome of one message with `sent` hostile values, and what the log has since the last one."""
        text = ""
        if self.log is not None:
            with self.log.open("rb") as file:
                file.seek(self._read)
                new = file.read()
            self._read += len(new)
            text = new.decode(errors="replace")
        lines = len(text.strip().splitlines())
        count = Count(sent, bool(errors), bool(broken), lines > sent, bool(TYPED.search(text) or ID.search(text)))
        self.counts[page, kind] = self.counts.get((page, kind), Count()) + count
        what = f"{page or 'heads'} {kind}: {what[:110]}"
        self.wrong += [f"{what}: {error[:160]}" for error in list(errors)[:1]]
        self.wrong += [f"{what}: broken: {broken[:160]}"] if broken else []
        self.wrong += [f"{what}: {lines} lines in the log: {text.strip()[:200]!r}"] if count.lines else []
        self.wrong += [f"{what}: text in the log: {text.strip()[:300]!r}"] if count.texts else []

    def table(self, by: int) -> str:
        """A line for each page (by: 0) or for each kind of attack (1)."""
        rows: dict[str, Count] = {}
        for key, count in self.counts.items():
            rows[key[by] or "heads"] = rows.get(key[by] or "heads", Count()) + count
        rows["together"] = sum(rows.values(), Count())
        lines = [("page" if by == 0 else "attack", *HEADER[1:]), ("---", *["---:"] * len(HEADER[1:]))]
        lines += [
            (name, *(f"{number:,}" if self.log or column not in ("lines", "texts") else "?"
                     for column, number in vars(count).items()))
            for name, count in rows.items()
        ]  # fmt: skip
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    @property
    def sent(self) -> int:
        return sum(count.sent for count in self.counts.values())


# -- the attacks ------------------------------------------------------------------------------------------------------


def hostile(attacker: Attacker, skip: Collection[str] = ()) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Kind of attack, widget and value, for every widget and every component's events that the attacker has seen."""
    for widget in sorted((attacker.seen & set(attacker.kinds)) - set(skip)):
        for kind, values in BY_KIND.items():
            for value in values:
                yield kind, widget, value
        if attacker.kinds[widget] == "bidi_component":
            for value in COMPONENT:
                text = value["json_value"].replace("REVISION", str(attacker.revision))
                yield "JSON", widget, {"json_value": text}
            for value in EVENTS:
                yield "events", f"{INTERNAL}_{attacker.ids[widget]}__events", value


async def _again(attacker: Attacker, fragment: str = "") -> str:
    """A run; what went wrong, if the server or the script did not go on."""
    try:
        await attacker.refresh(fragment)
    except (ViewerError, TimeoutError, WebSocketException, OSError) as error:
        return repr(error)
    return ""


async def _begin(attacker: Attacker, target: Target) -> set[str]:
    """A new session of the target, with its menus open; the widgets that it has without them."""
    await attacker.reload(source=MARK, **target.params)
    if target.opens:
        attacker.states["checkpoint"] = {"string_value": target.opens}
        await attacker.refresh()
    always = set(attacker.seen)
    for _ in range(2 if target.menus else 0):
        for widget in attacker.seen:
            if attacker.kinds.get(widget) == "popover":
                attacker.states[widget] = {"bool_value": True}
        await attacker.refresh()
    return always


async def attack_widgets(
    host: str, target: Target, report: Report, every: int = 1, first: int = 0, skip: Collection[str] = ()
) -> set[str]:
    """Send each value for each widget of a page; the page must be whole with it, and stay so without it.

    every, first: only one value in `every`. skip: widgets to leave out. Returns those that mean the same on other parts
    of the page: all but our components.
    """
    async with Attacker(host, target.page, PATIENCE) as attacker:
        always = await _begin(attacker, target)
        widgets, page = set(attacker.seen), attacker.page
        report.skip_log()
        for kind, widget, value in list(hostile(attacker, skip))[first::every]:
            event = widget.startswith(INTERNAL)
            component = next((name for name in attacker.kinds if event and attacker.ids[name] in widget), widget)
            if component not in attacker.ids:
                continue
            fragment = attacker.fragments.get(component, "") if event else ""
            before = attacker.states.get(widget)
            attacker.states[widget] = value
            if event:
                attacker.ids[widget] = widget
            broken = await _again(attacker, fragment)
            errors = list(attacker.errors)
            if before is None or event:
                attacker.states.pop(widget, None)
            else:
                attacker.states[widget] = before
            if event:
                del attacker.ids[widget]
            broken = broken or await _again(attacker)
            if attacker.errors:
                broken = broken or f"afterwards {attacker.errors[0]}"
            moved = attacker.page != page  # an example opened another page, as it should
            if not broken and not moved and len(attacker.seen & always) < len(always) // 2:
                broken = f"only {sorted(attacker.seen)} are left"
            report.note(target.page, kind, f"[{target}] {component} {value!r}", errors, broken)
            if broken or moved or not widgets <= attacker.seen:
                await _begin(attacker, target)
                page = attacker.page
                report.skip_log()
    return {widget for widget in widgets if attacker.kinds.get(widget) != "bidi_component"}


async def _open(host: str, page: str, params: dict[str, Any], **more: Any) -> tuple[Attacker, str]:
    async with Attacker(host, page, PATIENCE) as attacker:
        for name, value in more.items():
            setattr(attacker, name, value)
        try:
            await attacker.open(**params)
            return attacker, ""
        except (ViewerError, TimeoutError, WebSocketException, OSError) as error:
            return attacker, repr(error)


async def attack_links(
    host: str, target: Target, report: Report, every: int = 1, first: int = 0, alone: bool = True
) -> None:
    """Open a page by strange links: one strange value in each of the parameters that decide what the others mean, and
    strange values in all others at once, each value in each parameter. alone: whether the former, too."""
    page, named = target.page, [name for name in names_in_link(target.page) if name not in ALONE]
    links: list[dict[str, Any]] = [
        {**target.params, **{name: PARAMETERS[(at + turn) % len(PARAMETERS)] for at, name in enumerate(named)}}
        for turn in range(len(PARAMETERS))
    ]
    if alone:
        links += [{**target.params, name: value} for name in ALONE for value in PARAMETERS]
    for params in links[first::every]:
        strange = sum(target.params.get(name) != value for name, value in params.items())
        report.skip_log()
        attacker, broken = await _open(host, page, {"source": MARK, **params})
        what = f"[{target}] {[(name, str(v)[:9]) for name, v in params.items() if target.params.get(name) != v][:3]}"
        if not broken and not attacker.seen:
            broken = "nothing is on the page"
        report.note(page, "parameters", what, attacker.errors, broken, sent=strange)


async def attack_messages(host: str, target: Target, report: Report, every: int = 1, first: int = 0) -> None:
    """Strange messages around the values: of the browser, of fragments and pages, and values before their widgets."""
    page = target.page
    async with Attacker(host, page, PATIENCE) as known:
        always = await _begin(known, target)
        asked: list[tuple[str, dict[str, Any]]] = [("browser", {"url": url}) for url in URLS]
        asked += [
            ("browser", {name: text})
            for name in ("locale", "timezone", "color_scheme")
            for text in (*PARAMETERS[:3], MARK)
        ]
        asked += [("browser", {"timezone_offset": -(2**31)})]
        asked += [("addressed", {name: text})
                  for name in ("fragment_id", "page_script_hash", "page_name", "query_string")
                  for text in (MARK, "\x00", "x" * 5_000, "../" * 9, "%ff%00=%", "a=1&a=2&=&__proto__=1")]  # fmt: skip
        for kind, change in asked[first::every]:
            report.skip_log()
            shown, known.changes = (known.page, known.query), change
            if "fragment_id" in change:  # of none, so there is no answer
                await known.send(known._asking())
                broken, errors = "", []
            else:
                broken, errors = await _again(known), list(known.errors)
            (known.page, known.query), known.changes = shown, {}
            broken = broken or await _again(known)
            if not broken and (known.errors or len(known.seen & always) < len(always) // 2):
                broken = f"afterwards {known.errors} {sorted(known.seen)}"
            report.note(page, kind, f"[{target}] {str(change)[:60]}", errors, broken)
            if broken:
                await _begin(known, target)
        ids = {name: known.ids[name] for name in known.seen & set(known.kinds)}
    for turn in range(len(VALUES))[first::every]:
        states = {name: VALUES[(at + turn) % len(VALUES)] for at, name in enumerate(sorted(ids))}
        report.skip_log()
        attacker, broken = await _open(host, page, {"source": MARK, **target.params}, ids=dict(ids), states=states)
        report.note(page, "before their widgets", f"[{target}] turn {turn}", attacker.errors, broken, sent=len(ids))


async def attack_page(
    host: str, page: str, report: Report, every: int = 1, first: int = 0, most: int | None = None
) -> None:
    """Everything, on every part of a page; a widget that several parts have is attacked on one of them. most: only on
    so many of the targets."""
    done: set[str] = set()
    for number, target in enumerate(targets(page)[:most]):
        begin = time.monotonic()
        before, wrong = report.sent, len(report.wrong)
        thin = 3 * every if target.again else every
        done |= await attack_widgets(host, target, report, thin, first, () if target.again else done)
        await attack_links(host, target, report, thin, first, alone=number == 0)
        if number == 0:
            await attack_messages(host, target, report, every, first)
        seconds = time.monotonic() - begin
        print(f"{target}: {report.sent - before:,} values, {seconds:.0f} s", flush=True)
        for line, times in Counter(report.wrong[wrong:]).items():
            print(f"    {line}{f' ({times} times)' if times > 1 else ''}", flush=True)


async def _everything(host: str, names: list[str], report: Report, every: int, first: int) -> None:
    for name in names:
        await attack_page(host, name, report, every, first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", nargs="*", help="default: all")
    parser.add_argument("--host", help="of a server that runs already, such as localhost:8501")
    parser.add_argument("--log", type=Path, help="the file that this server logs to")
    parser.add_argument("--every", type=int, default=1, help="send only one value in EVERY")
    parser.add_argument("--first", type=int, default=0, help="begin with this one")
    asked = parser.parse_args()
    names = asked.page or [page.name for page in pages()]
    report = Report(asked.log)
    if asked.host is not None:
        run(_everything(asked.host, names, report, asked.every, asked.first))
    else:
        with tempfile.TemporaryDirectory() as folder:
            report.log = Path(folder) / "log.txt"
            process, address = start(report.log, HEADSCOPE_TRAININGS="0")
            try:
                run(_everything(address.removeprefix("http://"), names, report, asked.every, asked.first))
            finally:
                stop(process)
    print(f"\n{report.table(0)}\n\n{report.table(1)}")


if __name__ == "__main__":
    main()
