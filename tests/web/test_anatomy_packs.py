"""The anatomy's drawing gets the same from the engine as from the server: every pack, compared in Node."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import node
from tests.support.build import pretrained_variant
from transformer.analysis.anatomy import places
from transformer.inference.pretrained import Pretrained, load
from transformer.interventions.sets import Interventions, Pad
from transformer.view.anatomy_pack import facts, open_pack, place_pack, trace_pack, weights_pack
from transformer.web.folder import export_folder

ROOT = Path(__file__).parents[2]
SCRIPT = "anatomy/testing/same_packs.js"
TOLERANCE = 1e-5  # of the largest number of an array
STEP = 5e-4  # at most so many numbers of 8 bits differ, by one step: those whose rounding float32 decides
# Not of the trace; and a hidden cell's product, which is computed again, may differ from its score in the last bit.
OTHERS = {"/id", "/state", "/texts", "/whole", "/plain/scaled"}
VARIANTS: dict[str, dict[str, Any]] = {
    "pre-norm": {
        "encoder_layers": 3, "norm": "pre", "positions": "learned", "activation": "gelu", "d_k": 13,
        "tied_output": False, "output_bias": True, "layer_norm_eps": 0.01,
    },
    "bare": {"residual": False, "norm": "none", "embedding_scale": False},
}  # fmt: skip
EVERYTHING = (
    "scaling=off@cross,0.5@encoder_self.2.1 causal=off@decoder_self.1.2 pad=2 hide=source.2,target.2@decoder_self.1 "
    "zero=cross.2.3,encoder_self.1 weights=uniform@decoder_self.2,argmax@cross.1.2 skip=encoder.1.ff,decoder.2.cross "
    "neurons=encoder.2.5,decoder.2.7,decoder.2.3"
)
CASES = {
    "reverse": ("reverse", "headscope", "", ""),
    "reverse with switches": ("reverse", "headscope", "epocsdaeh", EVERYTHING),
    **{name: (name, "ka lo minu", "re sta vu", "") for name in VARIANTS},
    "pre-norm with switches": ("pre-norm", "ka lo minu", "re sta vu", f"{EVERYTHING} positions=reverse@target"),
}


def job(model: Pretrained, folder: Path, out: Path, source: str, target: str, switches: str) -> dict[str, Any]:
    """Writes every pack of a pass, and says how the engine makes them."""
    value = Interventions.parse(switches)
    first = model.trace(source, target or None)
    before = model.retrace(first, value.only(Pad)) if value else None
    after = first if before is None else model.retrace(before, value)
    layers = (model.config.encoder_layers, model.config.decoder_layers)
    packs: list[dict[str, Any]] = []

    def write(data: bytes, sort: str, **about: Any) -> None:
        name = f"{out.name}.{len(packs)}.{sort}"
        out.with_name(name).write_bytes(data)
        packs.append({"file": name, "sort": sort, **about})

    write(trace_pack(model, after, before, value.to_params()), "trace")
    for layer in range(max(layers)):
        encoder, decoder = (min(layer, count - 1) for count in layers)
        write(open_pack(after, encoder, decoder), "open", encoder=encoder, decoder=decoder)
    for place in places(layers):
        write(place_pack(model, after, place, 1, before), "place", place=place, t=1)
        if "." in place:
            for step in ("inner", "outer") if place.endswith("ff") else ("project", "output"):
                write(weights_pack(model, place, step), "weights", place=place, step=step)
    asked = {"source": source, "target": target, "output": None if target else after.target_out_ids}
    return {
        "folder": str(folder), "facts": facts(model), "packs": packs, "asked": {**asked, "switches": value.to_params()},
        "plain": None if before is None else value.only(Pad).to_params(),
    }  # fmt: skip


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Case -> file -> what differs."""
    out = tmp_path_factory.mktemp("packs")
    models = {"reverse": (load("reverse"), ROOT / "checkpoints" / "reverse")}
    for name, changes in VARIANTS.items():
        models[name] = pretrained_variant(**changes), out / name
        export_folder(*models[name])
    jobs = [job(*models[name], out / str(number), *rest) for number, (name, *rest) in enumerate(CASES.values())]
    (out / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
    said = node.written(SCRIPT, out / "jobs.json")
    return dict(zip(CASES, json.loads(said), strict=True))


@pytest.mark.parametrize("case", CASES)
def test_packs_of_the_engine_are_those_of_the_server(reports: dict[str, dict[str, Any]], case: str) -> None:
    compared, differing = 0, 0
    for file, report in reports[case].items():
        assert set(report["headers"]) <= OTHERS, file
        for path, found in report["arrays"].items():
            if "steps" in found:
                assert found["steps"] <= 1, (file, path, found)
                compared, differing = compared + found["numbers"], differing + found["differ"]
            else:
                assert found["error"] <= TOLERANCE, (file, path, found)
    assert compared > 10_000 and differing <= STEP * compared, (differing, compared)
