"""Properties that hold for any switches in any model: a switch does what it says, where it says, and nothing before."""

import dataclasses

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.support.build import CLOSE, attention_of, padded_sources, sub_layers, targets_in, tiny_model, tiny_pretrained
from tests.support.reference import COMBINED, BlindError, reference, switches
from tests.support.strategies import (
    SENTENCES,
    Batch,
    any_switches,
    batches,
    elsewhere,
    many_switches,
    models,
    silences,
    skips,
)
from transformer.inference.search import greedy
from transformer.interventions.edits import edits_of
from transformer.interventions.sets import (
    KEYS,
    MASKED,
    NONE,
    HeadSwitch,
    Hide,
    InterventionError,
    Interventions,
    KnockOut,
    Pad,
    Replace,
    Reposition,
    Scale,
    Silence,
    Skip,
    SubLayer,
    Switch,
    Unmask,
    Where,
    replaced,
)
from transformer.model.tap import KINDS, EditingTap, Tap, scope
from transformer.model.transformer import Transformer


def run(model: Transformer, batch: Batch, value: Interventions = NONE) -> dict[str, Tensor]:
    """Every tensor of a pass with switches, by name. An example that leaves a row without keys is skipped, because it
    is refused."""
    try:
        return records_of(model, batch, value)
    except InterventionError:
        assume(False)
        raise


def records_of(model: Transformer, batch: Batch, value: Interventions) -> dict[str, Tensor]:
    source = torch.nn.functional.pad(batch.source, (0, value.pads), value=model.config.pad_id)
    tap = Tap(edits_of(value, model.config, elsewhere(model)))
    model(source, batch.target, tap)
    return tap.finish()


def places(model: Transformer) -> st.SearchStrategy[Where]:
    """One head."""
    return st.builds(
        lambda kind_and_layer, head: Where(*kind_and_layer, head),
        st.sampled_from(sub_layers(model)),
        st.integers(0, model.config.heads - 1),
    )


def first_touched(switch: Switch, model: Transformer, records: dict[str, Tensor]) -> str:
    """The first tensor of a pass that a switch may change."""
    if isinstance(switch, Skip | Silence):
        part = switch.part if isinstance(switch, Skip) else "ff"
        return f"{switch.stack}.{switch.layer}.{part}." + ("update" if isinstance(switch, Skip) else "activation")
    if isinstance(switch, Reposition):
        names = ("positions",) if switch.rule in ("remove", "scale") else ("position_ids",)
        sides = ("source", "target") if switch.side is None else (switch.side,)
        return f"{sides[0]}.{names[0]}"
    if isinstance(switch, Pad):
        return next(iter(records))
    born = {Scale: "scores", Unmask: "mask", Hide: "mask", Replace: "weights", KnockOut: "head_outputs"}
    if type(switch) not in born:  # a switch of which this test knows nothing more
        return next(
            name for name in records if name in edits_of(Interventions((switch,)), model.config, elsewhere(model))
        )
    assert isinstance(switch, HeadSwitch)
    kinds = [
        kind
        for kind in KINDS
        if not isinstance(switch, Unmask | Hide)
        or (kind in MASKED[switch.mask] if isinstance(switch, Unmask) else KEYS[kind] == switch.side)
    ]
    reached = {
        scope(kind, layer) + born[type(switch)]
        for kind, layer in sub_layers(model)
        if kind in kinds and any(switch.where.covers(kind, layer, head) for head in range(model.config.heads))
    }
    return next(name for name in records if name in reached)


# -- as text --------------------------------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=100)
def test_switches_survive_their_text_form(data: st.DataObject) -> None:
    model = data.draw(models())
    value = data.draw(many_switches(model, 6, most=8))
    value.check(model.config)
    for again in (Interventions.parse(str(value)), Interventions.parse(value.to_params())):
        assert again == value and hash(again) == hash(value) and str(again) == str(value)
    assert value + NONE == value and Interventions(value.switches) == value


# -- one switch -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(st.data())
@settings(max_examples=120)
def test_nothing_moves_before_the_switch(data: st.DataObject) -> None:
    """To the last bit: every tensor before the first switched one is unchanged."""
    model = data.draw(models())
    batch = data.draw(batches(model, rows=1))
    switch = data.draw(any_switches(model, min(*batch.sources, *batch.targets)))
    plain, switched = run(model, batch), run(model, batch, Interventions((switch,)))
    assert list(plain) == list(switched)
    first = first_touched(switch, model, plain)
    for name, tensor in plain.items():
        if name == first:
            break
        assert torch.equal(switched[name], tensor), name
    else:
        raise AssertionError(f"{first} did not come up")


@given(st.data())
@settings(max_examples=50)
def test_a_zeroed_head_contributes_exactly_nothing(data: st.DataObject) -> None:
    """Its output is 0 to the last bit, the outputs of the others are unchanged, and its matrices no longer affect the
    logits."""
    model = data.draw(models())
    batch, where = data.draw(batches(model)), data.draw(places(model))
    kind, layer, head = where.kind, where.layer, where.head
    assert kind is not None and layer is not None and head is not None
    value, name = Interventions((KnockOut(where),)), scope(kind, layer) + "head_outputs"
    plain, zeroed = run(model, batch), run(model, batch, value)
    others = [other_head for other_head in range(model.config.heads) if other_head != head]
    assert not zeroed[name][:, head].any() and torch.equal(zeroed[name][:, others], plain[name][:, others])
    module, config = attention_of(model, kind, layer), model.config
    width, rows = config.d_k or config.d_head, slice(head * config.d_head, (head + 1) * config.d_head)
    columns = module.output.weight[:, rows]  # type: ignore[index, union-attr]
    lost = plain[name][:, head] @ columns.T
    update_name = scope(kind, layer) + "update"
    torch.testing.assert_close(zeroed[update_name], plain[update_name] - lost, **CLOSE)
    with torch.no_grad():
        columns.mul_(-3)
        for part in (module.query, module.key):  # type: ignore[union-attr]
            part.weight[head * width : (head + 1) * width].mul_(7)  # type: ignore[index]
        module.value.weight[rows].add_(1)  # type: ignore[index, union-attr]
    assert torch.equal(run(model, batch, value)["logits"], zeroed["logits"])
    # Without residual connections what a later sub-layer writes may not depend on this one.
    changes = config.heads > 1 and config.residual
    assert not changes or not torch.equal(run(model, batch)["logits"], plain["logits"])


@given(st.data())
@settings(max_examples=40)
def test_the_causal_mask_off_is_a_model_without_it(data: st.DataObject) -> None:
    """To the last bit, with any other switches; in a model without the mask the switch changes nothing."""
    model = data.draw(models(causal=True))
    batch = data.draw(batches(model, rows=1))
    value, off = data.draw(many_switches(model, min(*batch.sources, *batch.targets))), Unmask("causal")
    without = Transformer(dataclasses.replace(model.config, causal=False)).eval()
    without.load_state_dict(model.state_dict())
    wanted = run(model, batch, value + off)
    for record in (run(without, batch, value), run(without, batch, value + off)):
        assert list(record) == list(wanted)
        assert all(torch.equal(record[name], tensor) for name, tensor in wanted.items())


@given(st.data())
@settings(max_examples=40)
def test_skipped_sub_layers_and_silenced_neurons_add_nothing(data: st.DataObject) -> None:
    model = data.draw(models())
    batch = data.draw(batches(model))
    switch = data.draw(skips(model) | silences(model))
    part = switch.part if isinstance(switch, Skip) else "ff"
    plain, off = run(model, batch), run(model, batch, Interventions((switch,)))
    prefix = f"{switch.stack}.{switch.layer}.{part}."
    if isinstance(switch, Skip):
        left = off[prefix + "enters"] if model.config.residual else torch.zeros_like(off[prefix + "enters"])
        assert not off[prefix + "update"].any() and torch.equal(off[prefix + "sum"], left)
    else:
        active = torch.ones(model.config.d_ff, dtype=torch.bool)
        active[switch.neuron] = False
        assert not off[prefix + "activation"][..., switch.neuron].any()
        assert torch.equal(off[prefix + "activation"][..., active], plain[prefix + "activation"][..., active])
        stack = model.encoder if switch.stack == "encoder" else model.decoder
        row = stack[switch.layer].feed_forward.outer.weight[:, switch.neuron]  # type: ignore[union-attr, index]
        lost = plain[prefix + "activation"][..., switch.neuron, None] * row
        torch.testing.assert_close(off[prefix + "update"], plain[prefix + "update"] - lost, **CLOSE)


# -- any switches together ------------------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=80)
def test_weights_stay_weights(data: st.DataObject) -> None:
    """Rows sum to 1, hidden cells are 0, outputs are weights @ values, 0 or from elsewhere, and the stream adds up,
    with any switches."""
    model = data.draw(models())
    batch = data.draw(batches(model, rows=1))
    value = data.draw(many_switches(model, min(*batch.sources, *batch.targets)))
    records = run(model, batch, value)
    for kind, layer in sub_layers(model):
        mask, weights, values, outputs = (
            records[scope(kind, layer) + name] for name in ("mask", "weights", "values", "head_outputs")
        )
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
        assert not weights[~mask].any() and (weights >= 0).all() and mask.any(-1).all()
        zero = torch.tensor(
            [any(isinstance(switch, KnockOut) and switch.where.covers(kind, layer, head) for switch in value.switches)
             for head in range(model.config.heads)]
        )  # fmt: skip
        computed = ~torch.tensor(replaced(value.switches, SubLayer(kind, layer, model.config)))
        wanted = (weights @ values).masked_fill(zero[:, None, None], 0)
        assert torch.equal(outputs[:, computed | zero], wanted[:, computed | zero])
    for name, total in records.items():
        if name.endswith(".sum"):
            prefix = name.removesuffix("sum")
            past = records[prefix + "enters"] if model.config.residual else 0
            assert torch.equal(total, past + records[prefix + "update"])


def agrees_with_loops(model: Transformer, batch: Batch, value: Interventions) -> None:
    """The reference, written from the equations in float64, has every switch of attention."""
    source, target = batch.source[0].tolist(), batch.target[0].tolist()
    try:
        wanted = reference(model, source, target, value)
    except BlindError:
        with pytest.raises(InterventionError, match="nothing to attend to"):
            records_of(model, batch, value)
        return
    if wanted.gap < 1e-4:  # rounding decides
        return
    records = records_of(model, batch, value)
    for (kind, layer, head), weights in wanted.weights.items():
        found = records[scope(kind, layer) + "weights"][0, head].double()
        torch.testing.assert_close(found, torch.tensor(weights, dtype=torch.float64), rtol=0, atol=1e-4)
    torch.testing.assert_close(records["logits"][0].double(), torch.stack(wanted.logits), rtol=1e-4, atol=1e-4)


@given(st.data())
@settings(max_examples=40)
def test_any_switches_against_loops_in_any_model(data: st.DataObject) -> None:
    model = data.draw(models())
    batch = data.draw(batches(model, rows=1, longest=5))
    config, tokens = model.config, min(*batch.sources, *batch.targets)
    layers = min(config.encoder_layers, config.decoder_layers)
    known = switches(layers, config.heads, max(1, tokens - 1), high=2.0)
    agrees_with_loops(model, batch, Interventions(tuple(data.draw(st.lists(known, max_size=4)))))


@pytest.mark.parametrize("many", COMBINED, ids=lambda many: str(Interventions(many)).replace(" ", "+")[:60])
def test_each_switch_against_loops(many: tuple[Switch, ...]) -> None:
    batch = Batch(padded_sources(2, (7,)), targets_in(2, 1), (7,), (5,))
    agrees_with_loops(tiny_model(seed=11), batch, Interventions(many))


@given(st.data())
@settings(max_examples=40)
def test_cached_and_full_decoding_give_the_same_tokens(data: st.DataObject) -> None:
    """With any switches that show nothing of the future, the key-value cache and whole prefixes give the same
    tokens."""
    model = data.draw(models(causal=True))
    batch = data.draw(batches(model, rows=1))
    value = data.draw(many_switches(model, 1))
    assume(not value.replays)
    source = torch.nn.functional.pad(batch.source, (0, value.pads), value=model.config.pad_id)
    try:
        cached, anew = (
            greedy(model, source, 6, tap=EditingTap(edits_of(value, model.config, elsewhere(model)), replays=again))[0]
            for again in (False, True)
        )
    except InterventionError:
        assume(False)
    for cached_id, full_id, cached_log, full_log in zip(
        cached.ids, anew.ids, cached.log_probs, anew.log_probs, strict=False
    ):
        assert abs(cached_log - full_log) < 1e-4
        if cached_id != full_id:  # two tokens alike up to rounding; from here on other things are decoded
            return
    assert len(cached.ids) == len(anew.ids)


@given(SENTENCES, st.data())
@settings(max_examples=40)
def test_a_switched_trace_can_be_switched_back(text: str, data: st.DataObject) -> None:
    """`retrace` with other switches equals the pass of `trace`, and without switches the first trace, to the last
    bit."""
    tiny = tiny_pretrained()
    value = data.draw(many_switches(tiny.model, 2))
    first = tiny.trace(text, "re sta", limit=40)
    try:
        there = tiny.retrace(first, value)
        direct = tiny.trace(text, "re sta", interventions=value)
    except InterventionError:
        assume(False)
    assert there.id == direct.id and torch.equal(there.logits, direct.logits)
    assert there.interventions == value
    back = tiny.retrace(there)
    assert back.id == first.id and torch.equal(back.logits, first.logits)
    for kind in KINDS:
        assert torch.equal(back.attention(kind).weights, first.attention(kind).weights)
