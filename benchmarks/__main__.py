"""python -m benchmarks [NAME ...] [--quick]: measure, print, and put the tables into README.md."""

from __future__ import annotations

import argparse
import importlib
import sys

import transformer
from benchmarks import report

PARTS = {
    "trace": "a full trace, compared with a pass without recording",
    "rendering": "from a click to the drawn grid in a browser, compared with BertViz",
    "page": "the model in the page, beside BertViz and the server: keys, switches, the site, the server's CPU",
    "lab": "a trace with switches, and a switch on the screen",
    "pages": "the first picture of every page of figures, and its sliders",
    "anatomy": "the anatomy's first picture, the data sent for it, and the frames of its movements",
    "server": "a rerun on the server, and thirty viewers",
    "job": "thirty viewers while one job measures every head",
    "room": "a class that follows its teacher: changes on all screens, clicks, answers, memory",
    "new_sentences": "many viewers who type new sentences, and others who click",
    "playground": "thirty viewers while two trainings run",
    "picture": "a redraw of the picture of running trainings, and the data sent for it",
    "training": "tokens per second, compared with torch.nn.Transformer",
    "typed": "300 sentences that people type, and 200 names to copy",
    "decoding": "decoding, compared with MarianMTModel.generate and CTranslate2",
    "clicks": "a click in the trees of beam search and of branches, at 20 tokens",
    "many": "chosen tensors of 1,000 sentence pairs, compared with single traces; what every head is worth",
    "commands": "wall clock, CPU and memory of every command of the command line",
    "attribution": "agreement, faithfulness and cost of the methods of attribution",
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help="; ".join(f"{k}: {v}" for k, v in PARTS.items()))
    parser.add_argument("--quick", action="store_true", help="a few repetitions as a check; write nothing")
    parser.add_argument(
        "--minutes",
        type=float,
        metavar="N",
        help="minutes with viewers on all pages, for `server`; with a full room, for `room`",
    )
    parser.add_argument("--checkpoint", default="en-de", help="name of a bundled model or a folder (default: en-de)")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in PARTS]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; choose {', '.join(PARTS)}")
    try:
        model = transformer.load(options.checkpoint)
    except transformer.CheckpointError as error:
        parser.error(str(error))
    for name in options.names or PARTS:
        part = importlib.import_module(f"benchmarks.{name}")
        more = {"minutes": options.minutes} if name in ("server", "room") and options.minutes else {}
        tables = part.measure(model, quick=options.quick, **more)
        browser = getattr(part, "browser_version", lambda: "")()
        again = " ".join([f"python -m benchmarks {name}", *(f"--{key} {value:g}" for key, value in more.items())])
        text = "\n".join([f"`{again}` on {report.machine(browser)}", "", *(table.markdown() for table in tables)])
        print(text, flush=True)
        if not options.quick:
            report.write(name, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
