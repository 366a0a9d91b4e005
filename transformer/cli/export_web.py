"""Write a model as files for a browser: graphs, weights and tokenizer."""

import argparse
from pathlib import Path

from transformer.cli.common import CommandError, show_progress
from transformer.inference.pretrained import load
from transformer.texts import N_, _
from transformer.web.folder import ABOUT, export_folder, files

SUMMARY = N_("Write a model as files for a browser: graphs, weights and tokenizer.")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help=_("name of a bundled model, e.g. en-de, or a folder"))
    parser.add_argument(
        "folder",
        type=Path,
        metavar="FOLDER",
        help=_("where to write; the checkpoint's own folder gets new graphs, which the app uses then"),
    )
    parser.add_argument("--force", action="store_true", help=_("write into a folder that is not empty"))


def run(options: argparse.Namespace) -> int:
    folder = options.folder.expanduser()
    model = load(options.checkpoint)
    own = folder.is_dir() and folder.samefile(model.path)
    if not (own or options.force) and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CommandError("{folder} is not an empty folder; choose another, or add --force", folder=folder)
    names = (ABOUT, *files(export_folder(model, folder, show_progress, fresh=own)))
    size = sum((folder / name).stat().st_size for name in names)
    print(_("{folder}: {count} files for the browser, {size:.1f} MB", folder=folder, count=len(names), size=size / 1e6))
    return 0
