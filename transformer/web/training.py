"""The recorded trainings on a page without a server: a file for each run, and one for each language with all texts.

recorded-NAME.pack.gz  the pack of one run (`transformer.view.training_pack`)
LANGUAGE.json          for every preset, in the order of the menu: name, label, telling (whether it is always in sight),
                       headline, look_for, runs (ids, the one compared with first), labels, findings and place, as in
                       `training_pack`
"""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from transformer.files import write_gzip, write_whole
from transformer.live_training.finding_texts import headline, rows
from transformer.live_training.presets import HIGHLIGHTS, PRESETS, label, look_for, names
from transformer.live_training.recordings import recorded_names, recorded_runs, recording
from transformer.texts import Language, in_language
from transformer.view.training_pack import first_place, training_pack


def _preset(name: str) -> dict[str, Any]:
    """What is said of a preset, in the reader's language."""
    runs = recorded_runs(name)
    labels = recorded_names(runs)
    return {
        "name": name,
        "label": label(name),
        "telling": name in HIGHLIGHTS,
        "headline": headline(name),
        "look_for": look_for(name),
        "runs": [run.id for run in runs],
        "labels": labels,
        "findings": rows(runs, labels),
        "place": asdict(first_place(runs)),
    }


def write_trainings(folder: Path, languages: Iterable[Language]) -> None:
    """Write all files into the folder, which is made if necessary."""
    folder.mkdir(parents=True, exist_ok=True)
    for run in filter(None, map(recording, PRESETS)):
        packed = training_pack([run], {run.id: 0}, {})
        write_gzip(folder / f"{run.id}.pack.gz", packed)
    for language in languages:
        with in_language(language):
            texts = [_preset(name) for name in names() if recorded_runs(name)]
        write_whole(folder / f"{language.code}.json", json.dumps(texts, ensure_ascii=False).encode("utf-8"))
