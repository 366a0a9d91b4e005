"""Write a site of static files, which shows models without a server."""

import argparse
import sys
from pathlib import Path

from transformer.inference.pretrained import load
from transformer.texts import N_, _

SUMMARY = N_("Write Headscope as static files for any web host: the browser computes the model.")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help=_("where to write it; an earlier site there is replaced")
    )
    parser.add_argument(
        "--single-file",
        action="store_true",
        help=_("write one HTML file of this name instead, with everything inside, for a memory stick"),
    )
    parser.add_argument(
        "--checkpoint",
        nargs="+",
        default=["en-de"],
        metavar="NAME_OR_PATH",
        help=_("names of bundled models, or folders, also of Marian models; the first one opens (default: en-de)"),
    )
    parser.add_argument(
        "--language",
        nargs="+",
        default=[],
        metavar="CODE",
        help=_("languages of the site, such as en or ko (default: all)"),
    )


def run(options: argparse.Namespace) -> int:
    from transformer.web.single_file import write_single_file  # and with it Babel, which takes 0.1 s to import
    from transformer.web.site import write_site

    models = [load(name) for name in dict.fromkeys(options.checkpoint)]
    if options.single_file:
        write_single_file(options.folder, models, options.language)
        size = options.folder.stat().st_size
        print(_("{file}, {size:.1f} MB; open it in a browser", file=options.folder, size=size / 1e6))
        return 0
    names = write_site(options.folder, models, options.language)
    size = sum((options.folder / name).stat().st_size for name in names)
    print(
        _(
            "{count} files, {size:.1f} MB, in {folder}. To look at them, run {python} -m http.server --directory "
            "{folder} and open http://localhost:8000",
            count=len(names),
            size=size / 1e6,
            folder=options.folder,
            python=sys.executable,
        )
    )
    return 0
