"""Teaching signs: nothing changes at the beginning, and then only what may."""

import random
from pathlib import Path

import pytest
import torch

import transformer
from recipes import signs
from recipes.signs import (
    Settings,
    Teaching,
    divergence,
    feed_forwards,
    kept,
    least_used,
    main,
    rare_signs,
    rate_at,
    taught,
)
from tests.support.build import tiny_model
from transformer.text.batching import make_batch
from transformer.training.data import Pair

PAIRS: list[Pair] = [
    ("Tom sees the old house.", "Tom sieht das alte Haus."),
    ("Mary lives in Boston now.", "Maria wohnt jetzt in Boston."),
    ("We eat bread.", "Wir essen Brot."),
] * 10


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"NEW": 3, "MEASURED": 40, "LESSONS": 20, "TEXTS": 20, "KEPT_TOKENS": 60}.items():
        monkeypatch.setattr(signs, name, value)


@pytest.fixture(scope="module")
def start() -> transformer.Pretrained:
    return transformer.load("en-de")


def test_new_neurons_change_nothing_until_they_learn(start: transformer.Pretrained) -> None:
    wide = signs.widened(start.model, 5, seed=1)
    assert wide.config.d_ff == start.config.d_ff + 5
    source, target = torch.tensor([[44, 9, 3]]), torch.tensor([[2, 81]])
    logits = [model(source, target) for model in (start.model, wide)]
    torch.testing.assert_close(logits[0], logits[1], atol=1e-4, rtol=0)


def test_an_update_moves_the_new_and_the_least_used_neurons_and_the_rows_of_rare_signs_alone(
    start: transformer.Pretrained,
) -> None:
    run = Teaching(start, PAIRS, [], Settings(old=4, tokens=60))
    before = {name: parameter.detach().clone() for name, parameter in run.model.named_parameters()}
    lesson, text = next(run.drawn(1))
    run.update(lesson, text, 1.0)
    learned, apart, active = run.update(lesson, text, 1.0)  # in the first one, nothing comes out of the new neurons
    assert learned > 0 and apart > 0 and active > 0
    rows = rare_signs(start, PAIRS)
    assert "#" in start.tokenizer.pieces(rows) and "." not in start.tokenizer.pieces(rows)
    old = least_used(
        run.before, run.batches(kept(random.Random(1), PAIRS, [], signs.MEASURED), signs.KEPT_TOKENS, 1), 4
    )
    for name, parameter in run.model.named_parameters():
        moved = {tuple(place) for place in (parameter != before[name]).nonzero().tolist()}
        if name == "embedding.weight":
            assert moved and {row for row, _ in moved} <= set(rows)
        elif ".feed_forward." in name and not name.endswith("outer.bias"):
            layer = name.rsplit(".", 2)[0]
            allowed = {*old[layer].tolist(), *range(start.config.d_ff, start.config.d_ff + signs.NEW)}
            places = {place[1 if name.endswith("outer.weight") else 0] for place in moved}
            assert places and places <= allowed
        else:
            assert not moved


def test_the_least_used_neurons_are_those_whose_output_varies_least() -> None:
    """All neurons of this model are active, but nothing comes out of the eighth of any layer, and the tenth is even."""
    model = tiny_model(1, vocab_size=67).requires_grad_(False)
    for layer in feed_forwards(model).values():
        layer.inner.bias.add_(20)
        layer.outer.weight[:, 7] = 0
        layer.inner.weight[9] = 0
    texts = [make_batch([[44, 9, 17]], [[61, 12]], model.config)]
    assert all(sorted(neurons.tolist()) == [7, 9] for neurons in least_used(model, texts, 2).values())


def test_what_is_taught_and_kept_is_the_same_for_the_same_seed() -> None:
    assert [taught(random.Random(5), PAIRS, PAIRS) for _ in range(2)] == [taught(random.Random(5), PAIRS, PAIRS)] * 2
    assert kept(random.Random(5), PAIRS, [], 4) == kept(random.Random(5), PAIRS, [], 4)
    drawn = kept(random.Random(7), PAIRS[2:3], [("One two three.", "Eins zwei drei.")], 400)
    assert len(drawn) == 400
    assert sum("one two" in source.lower() for source, _ in drawn) == pytest.approx(280, abs=60)  # some are joined


def test_divergence_is_zero_of_the_same_logits_and_else_the_sum_by_hand() -> None:
    even, uneven = torch.zeros(1, 2), torch.tensor([[0.0, 3.0]]).log1p()  # 1/2 and 1/2, 1/5 and 4/5
    assert divergence(uneven, uneven).item() == 0
    torch.testing.assert_close(divergence(even, uneven), torch.tensor(2.5).log() / 2 + torch.tensor(0.625).log() / 2)


def test_the_rate_rises_to_its_peak_and_falls_to_a_hundredth() -> None:
    assert [rate_at(place * signs.WARMUP) for place in (0, 0.5, 1)] == [0, 0.5, 1]
    assert rate_at((1 + signs.WARMUP) / 2) == pytest.approx(0.505)
    assert rate_at(1) == pytest.approx(0.01)


def test_what_is_saved_is_the_mean_of_states(start: transformer.Pretrained) -> None:
    run = Teaching(start, PAIRS, [], Settings(old=4, tokens=60))
    first = run.state()
    run.put_mean([first, {name: value + 3 for name, value in first.items()}, first])
    assert all(torch.allclose(value, first[name] + 1, atol=1e-5) for name, value in run.state().items())


def test_the_command_writes_a_checkpoint_and_goes_on_from_it(tmp_path: Path) -> None:
    text = tmp_path / "pairs.tsv"
    text.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS), encoding="utf-8")
    command = ["en-de", str(text), "--unseen", str(text), "--updates", "1", "--old", "4", "--tokens", "60"]
    assert main([*command, str(tmp_path / "one")]) == 0
    assert main([*command, str(tmp_path / "two"), "--on", str(tmp_path / "one")]) == 0
    models = [transformer.load(tmp_path / name) for name in ("one", "two")]
    assert {model.config.d_ff for model in models} == {transformer.load("en-de").config.d_ff + signs.NEW}
    assert {model.translate("We eat bread.").text for model in models} == {"Wir essen Brot."}
