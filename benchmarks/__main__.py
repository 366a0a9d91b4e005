"""python -m benchmarks [NAME ...] [--quick]: measure, print, and put the tables into README.md."""

import argparse
import importlib
import sys
from pathlib import Path

import transformer
from benchmarks import report

README = Path(__file__).parent / "README.md"
PARTS = ("trace", "page", "server", "job", "room", "decoding", "typed", "attribution")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"{', '.join(PARTS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="a few repetitions as a check; write nothing")
    parser.add_argument("--minutes", type=float, metavar="N", help="of `server` on all pages; of a full `room`")
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
        more = {"minutes": options.minutes} if name in ("server", "job", "room") and options.minutes else {}
        tables = importlib.import_module(f"benchmarks.{name}").measure(model, quick=options.quick, **more)
        command = " ".join([f"python -m benchmarks {name}", *(f"--{key} {value:g}" for key, value in more.items())])
        text = "\n".join([f"`{command}` on {report.machine()}", "", *(table.markdown() for table in tables)])
        print(text, flush=True)
        if not options.quick:
            report.write(README, text, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
