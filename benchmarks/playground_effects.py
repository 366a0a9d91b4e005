"""The results of each preset of the Training page with three seeds, compared with the paper's predictions. Writes
docs/playground.json, from which `make docs` makes the table of docs/playground.md.

    python -m benchmarks.playground_effects --output runs/playground

Existing results are not measured again, so you can stop it and continue later. Uses one thread.
"""

import argparse
import dataclasses
import itertools
import json
import sys
from pathlib import Path

import torch

from benchmarks.report import spread
from transformer.files import write_whole
from transformer.live_training.experiment import Experiment
from transformer.live_training.findings import PREDICTIONS, Numbers, judged, numbers, prediction
from transformer.live_training.frames import Frame
from transformer.live_training.presets import PARTNERS, PRESETS
from transformer.live_training.session import Session

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "playground.json"
SEEDS = (1, 2, 3)

# What the paper leads one to expect, by the key of `findings.PREDICTIONS`.
SAYS = {
    "mask": "teacher-forced right and loss near 0, for the answer is in sight; free-running fails",
    "positions": "order unknown: not learned",
    "learned-positions": '"nearly identical results"',
    "scaling": "for large d_k: saturated softmax, small gradients, hence slower or stuck",
    "scaling-small": "for small d_k: much the same",
    "heads": "one head worse",
    "d_k": "smaller d_k worse",
    "size": "bigger is better",
    "dropout": "dropout helps",
    "smoothing": "loss higher, accuracy better",
    "residual": "employed, citing He et al. 2016: without them training is harder",
    "norm": "employed, citing Ba et al. 2016: without it training takes longer",
    "pre-norm": "nothing; Xiong et al. 2020: easier with LayerNorm before",
    "warmup": "employed without a reason: worse without",
    "complete": "attention alone is enough",
    "": "nothing",
}


def measure(experiment: Experiment) -> Numbers:
    """Train it, with everything recorded."""
    session, frames = Session(experiment), list[Frame]()
    session.run(frames.append)
    return numbers(session.opening, frames)


def load(folder: Path, name: str, seed: int) -> Numbers:
    """The numbers of a preset with a seed, from the folder if they are there."""
    experiment = dataclasses.replace(PRESETS[name], seed=seed)
    path = folder / f"{name}-{seed}.json"
    wanted = experiment.to_dict()
    if path.is_file():
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["experiment"] == wanted:
            return Numbers(**kept["numbers"])
    found = measure(experiment)
    table = {"experiment": wanted, "numbers": dataclasses.asdict(found)}
    write_whole(path, (json.dumps(table, indent=1) + "\n").encode())
    return found


def agreement(name: str, found: dict[str, list[Numbers]]) -> tuple[str, str, str]:
    """What is expected of a preset beside its partner, where, and how many seeds agree."""
    other = PARTNERS.get(name)
    if other is None:
        return "", "", ""
    key, forward = prediction(PRESETS[other], PRESETS[name])
    section = PREDICTIONS[key][0] if key else ""
    verdicts = [judged(key, forward, *pair) for pair in zip(found[other], found[name], strict=True)]
    if not key:
        return SAYS[key], section, ""
    said = {True: "as expected", False: "not as expected", None: "undecided"}
    counts = {said[value]: verdicts.count(value) for value in (True, False, None)}
    here = ", ".join(f"{count} of {len(verdicts)} {word}" for word, count in counts.items() if count)
    return SAYS[key], section, here


def stored() -> dict[str, list[Numbers]]:
    """The numbers of every preset, as docs/playground.json has them."""
    kept = json.loads(TABLE.read_text(encoding="utf-8"))["presets"]
    return {name: [Numbers(seconds=None, **one) for one in runs] for name, runs in kept.items()}


def rows(found: dict[str, list[Numbers]]) -> str:
    """The table as Markdown."""
    lines = [
        "| preset | beside | exact, % | teacher-forced, % | loss | 95% exact at step | entropy, before and after | "
        "the paper expects | section | here |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, many in found.items():
        expects, section, here = agreement(name, found)
        before = spread([one.entropy_first for one in many], ".2f")
        after = spread([one.entropy for one in many], ".2f")
        cells = [
            f"`{name}`", f"`{PARTNERS.get(name)}`" if PARTNERS.get(name) else "",
            spread([one.exact for one in many], ".1f", 100), spread([one.forced for one in many], ".1f", 100),
            spread([one.validation_loss for one in many], ".3f"), spread([one.reached for one in many]),
            f"{before}; {after}", expects, section, here,
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.playground_effects", description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "playground", metavar="FOLDER")
    parser.add_argument("--only", nargs="+", choices=list(PRESETS), default=list(PRESETS), metavar="PRESET")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    found: dict[str, list[Numbers]] = {}
    for name in options.only:
        found[name] = []
        for seed in SEEDS:
            found[name].append(one := load(options.output, name, seed))
            print(f"{name}, seed {seed}: {one}", flush=True)
    if len(found) == len(PRESETS):
        plain = {name: [dataclasses.asdict(one) for one in many] for name, many in found.items()}
        for one in itertools.chain(*plain.values()):
            del one["seconds"]  # others may have used the machine
        write_whole(TABLE, (json.dumps({"seeds": SEEDS, "presets": plain}, indent=1) + "\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
