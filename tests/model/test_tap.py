import pytest
import torch

from tests.support.build import (
    D_FF,
    D_HEAD,
    D_MODEL,
    HEADS,
    SOURCE,
    TARGET,
    VARIANTS,
    VOCAB,
    padded_sources,
    targets_in,
    tiny_model,
    variant_name,
)
from transformer.interventions.edits import joined
from transformer.model.tap import FUSED, OFF, EditingTap, Tap, TapError, across_layers, in_layers, reads

BATCH = 3
variants = pytest.mark.parametrize("changes", VARIANTS, ids=variant_name)


def _pass(model, edits=None, seed=1):
    tap = Tap(edits)
    logits = model(padded_sources(seed), targets_in(seed, BATCH), tap)
    return logits, tap.finish()


def _table(d_k=D_HEAD, d_v=D_HEAD, positions="sinusoidal", gated=False, **others):
    """Names and shapes of transformer/model/tap.py's docstring for the tiny model, written out once more."""
    shapes = {}
    for side, length in (("source", SOURCE), ("target", TARGET)):
        shapes[f"{side}.embedding"] = (BATCH, length, D_MODEL)
        shapes[f"{side}.position_ids"], shapes[f"{side}.positions"] = (length,), (length, D_MODEL)
    kinds = [("encoder", "self", SOURCE, SOURCE), ("decoder", "self", TARGET, TARGET),
             ("decoder", "cross", TARGET, SOURCE)]  # fmt: skip
    for layer in range(2):
        for stack, kind, query, key in kinds:
            at = f"{stack}.{layer}.{kind}"
            shapes |= {f"{at}.{name}": (BATCH, query, D_MODEL) for name in ("enters", "update", "sum", "leaves")}
            shapes |= {f"{at}.queries": (BATCH, HEADS, query, d_k), f"{at}.keys": (BATCH, HEADS, key, d_k)}
            shapes |= {f"{at}.values": (BATCH, HEADS, key, d_v), f"{at}.head_outputs": (BATCH, HEADS, query, d_v)}
            shapes |= {f"{at}.{name}": (BATCH, HEADS, query, key) for name in ("scores", "weights")}
            shapes[f"{at}.mask"] = (BATCH, HEADS, query, key)
            if positions == "relative" and kind == "self":
                shapes[f"{at}.bias"] = shapes[f"{at}.products"] = (BATCH, HEADS, query, key)
        for stack, length in (("encoder", SOURCE), ("decoder", TARGET)):
            at = f"{stack}.{layer}.ff"
            shapes |= {f"{at}.{name}": (BATCH, length, D_MODEL) for name in ("enters", "update", "sum", "leaves")}
            names = ("pre_activation", "gate", "activation") if gated else ("pre_activation", "activation")
            shapes |= {f"{at}.{name}": (BATCH, length, D_FF) for name in names}
    shapes["encoder.output"], shapes["decoder.output"] = (BATCH, SOURCE, D_MODEL), (BATCH, TARGET, D_MODEL)
    shapes["logits"] = (BATCH, TARGET, VOCAB)
    return shapes


@variants
def test_every_name_and_shape_of_the_table(changes):
    _, records = _pass(tiny_model(**changes))
    assert {name: tuple(tensor.shape) for name, tensor in records.items()} == _table(**changes)
    assert {name for name, tensor in records.items() if tensor.dtype != torch.float32} == {
        name for name in records if name.endswith((".mask", ".position_ids"))
    }


def test_an_edit_changes_only_later_tensors():
    model = tiny_model()
    _, plain = _pass(model)
    name = "decoder.0.cross.weights"

    def silence_head_1(weights):
        weights = weights.clone()
        weights[:, 1] = 0
        return weights

    logits, edited = _pass(model, {name: silence_head_1})
    order = list(plain)
    assert list(edited) == order
    born = order.index(name)
    # Keys of a pass run encoder first, so everything before this name is also everything upstream of it.
    for before in order[:born]:
        assert torch.equal(edited[before], plain[before]), before
    assert torch.equal(edited[name], silence_head_1(plain[name]))
    heads = "decoder.0.cross.head_outputs"
    assert (edited[heads][:, 1] == 0).all()
    assert torch.equal(edited[heads][:, [0, 2]], plain[heads][:, [0, 2]])
    downstream = [after for after in order[born:] if not after.endswith(("mask", "cross.keys", "cross.values"))]
    for after in downstream:
        assert not torch.equal(edited[after], plain[after]), after
    assert torch.equal(edited["decoder.1.cross.keys"], plain["decoder.1.cross.keys"])  # they come from the encoder
    assert torch.equal(edited["logits"], logits)


def test_an_edit_of_one_sentence_leaves_the_others():
    model = tiny_model()
    plain, _ = _pass(model)

    def first_row(tensor):
        return torch.cat((tensor[:1] + 1, tensor[1:]))

    edited, _ = _pass(model, {"encoder.1.ff.activation": first_row})
    assert torch.equal(edited[1:], plain[1:]) and not torch.equal(edited[0], plain[0])


def test_an_edit_that_returns_its_tensor_changes_no_bit():
    model = tiny_model()
    plain, names = _pass(model)
    assert torch.equal(_pass(model, {name: lambda tensor: tensor for name in names})[0], plain)


def test_an_edit_of_the_mask_opens_the_future():
    model = tiny_model()
    _, records = _pass(model, {"decoder.0.self.mask": lambda mask: torch.ones_like(mask)})
    assert (records["decoder.0.self.weights"] > 0).all()
    assert (records["decoder.1.self.weights"] == 0).any()


def test_a_name_twice():
    tap = Tap()
    tap.at("a")("b", torch.zeros(2))
    with pytest.raises(TapError, match=r"^a\.b was recorded twice"):
        tap("a.b", torch.zeros(2))


def test_a_tap_serves_one_pass():
    model, tap = tiny_model(), Tap()
    model(padded_sources(1), targets_in(1, BATCH), tap)
    with pytest.raises(TapError, match="use a new tap"):
        model(padded_sources(1), targets_in(1, BATCH), tap)


@pytest.mark.parametrize(
    "edit", [lambda t: t[:1], lambda t: t.double(), lambda t: t.sum()], ids=["shape", "dtype", "scalar"]
)
def test_an_edit_keeps_shape_and_dtype(edit):
    with pytest.raises(TapError, match=r"edit of encoder\.0\.self\.weights returned .* must keep \[3, 3, 7, 7\]"):
        _pass(tiny_model(), {"encoder.0.self.weights": edit})


@pytest.mark.parametrize(
    ("name", "near"),
    [("encoder.2.self.weights", "encoder.1.self.weights"), ("decoder.0.cros.weights", "decoder.0.cross.weights"),
     ("cheese", None), ("", None)],
)  # fmt: skip
def test_an_edit_that_met_no_tensor(name, near):
    advice = "help(transformer.model.tap) lists the names"
    with pytest.raises(TapError) as refused:
        _pass(tiny_model(), {name: lambda tensor: tensor})
    known = f"did you mean {near}? {advice}" if near else f"{advice}, for example decoder.0.cross.weights"
    assert str(refused.value) == f"there is no tensor {name!r}; {known}"


def test_an_edit_returns_a_tensor():
    with pytest.raises(TapError, match=r"returned NoneType; it must return a tensor, \[3, 3, 7, 7\] torch.float32"):
        _pass(tiny_model(), {"encoder.0.self.weights": lambda weights: None})


@pytest.mark.parametrize("tap", [OFF, FUSED])
def test_off_keeps_nothing(tap):
    tensor = torch.zeros(2)
    assert tap("name", tensor) is tensor and tap.at("scope") is tap and tap.off
    assert not Tap().off and not Tap().fused


def test_an_edit_of_two_arguments_reads_what_the_pass_has_computed() -> None:
    model = tiny_model()
    source, target = torch.tensor([[4, 5, 3]]), torch.tensor([[2, 6]])
    name, first = "decoder.1.cross.weights", "decoder.0.cross.weights"
    edits = {first: lambda weights: weights.flip(-1), name: lambda weights, seen: seen[first]}
    for kind in (Tap, EditingTap):
        tap = kind(edits)
        model(source, target, tap)
        assert torch.equal(tap.records[name], tap.records[first])  # after the edit of the first
    plain = EditingTap({first: lambda weights: weights})
    model(source, target, plain)
    assert not plain.records and not reads(torch.zeros_like) and not reads(lambda tensor, scale=2: tensor * scale)
    for missing in ("decoder.1.ff.update", "decoder.0.cross.weight"):
        with pytest.raises(TapError, match=f"an edit reads '{missing}', which is not computed yet or does not exist"):
            model(source, target, Tap({name: lambda weights, seen, missing=missing: seen[missing] + weights}))


def test_edits_that_read_are_joined_with_others() -> None:
    add = {"x": lambda tensor, seen: tensor + seen["y"]}
    double = {"x": lambda tensor: 2 * tensor}
    seen = {"y": torch.tensor(5.0)}
    assert (
        joined(add, double)["x"](torch.tensor(1.0), seen) == 12
        and joined(double, add)["x"](torch.tensor(1.0), seen) == 7
    )
    assert joined(double, double)["x"](torch.tensor(1.0)) == 4


def test_both_names_of_a_tensor_are_one() -> None:
    assert in_layers("cross.weights", 3, 2) == ["decoder.0.cross.weights", "decoder.1.cross.weights"]
    assert (
        in_layers("cross.1.weights", 3, 2) == in_layers("decoder.1.cross.weights", 3, 2) == ["decoder.1.cross.weights"]
    )
    assert in_layers("encoder_ff.activation", 1, 2) == ["encoder.0.ff.activation"]
    assert in_layers("source_position_ids", 1, 2) == ["source.position_ids"] and in_layers("logits", 1, 2) == ["logits"]
    tap, model = Tap(), tiny_model()
    model(torch.tensor([[4, 3]]), torch.tensor([[2]]), tap)
    layers = (len(model.encoder), len(model.decoder))
    for name in tap.records:
        assert in_layers(name, *layers) == [name] and name in in_layers(across_layers(name), *layers)
