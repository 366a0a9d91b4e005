"""What holds for every model and every batch: identities of attention, of the residual stream and of decoding."""

import math
from collections.abc import Sequence

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.support.build import CLOSE, attention_of, sub_layers
from tests.support.reference_torch import ACTIVATION, check, projected
from tests.support.strategies import Batch, batches, models
from transformer.inference.search import beam, greedy, output_limit
from transformer.model.attention import attend
from transformer.model.tap import FUSED, OFF, Tap, scope
from transformer.model.transformer import Transformer

ADDED = ("sinusoidal", "learned", "none")  # positions that are added to the embeddings


def records_of(model: Transformer, batch: Batch) -> dict[str, Tensor]:
    tap = Tap()
    model(batch.source, batch.target, tap)
    return tap.finish()


# -- attention ------------------------------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=100)
def test_attention_under_any_mask(data: st.DataObject) -> None:
    """Rows sum to 1, hidden cells are 0 and what they hide does not leak; a row without keys is NaN, all of it."""
    batch, head, query, key, d_k, d_head = (data.draw(st.integers(1, most)) for most in (3, 3, 5, 7, 11, 13))
    torch.manual_seed(data.draw(st.integers(0, 999)))
    queries, keys = 3 * torch.randn(batch, head, query, d_k), torch.randn(batch, head, key, d_k)
    values = torch.randn(batch, head, key, d_head)
    shape = [data.draw(st.sampled_from((1, size))) for size in (batch, head, query)]
    mask = torch.rand(*shape, key) < data.draw(st.floats(0, 1))
    full = mask.expand(batch, head, query, key)
    tap = Tap()
    output = attend(queries, keys, values, mask, tap=tap)
    weights, seeing = tap.records["weights"], full.any(-1)
    torch.testing.assert_close(weights.sum(-1)[seeing], torch.ones(int(seeing.sum())))
    assert not weights[seeing][~full[seeing]].any()
    assert weights[~seeing].isnan().all() and output[~seeing].isnan().all() and output[seeing].isfinite().all()
    assert torch.equal(weights @ values, output) or not seeing.all()
    shouting = torch.where(full[:, :, :1].transpose(-2, -1), values, 1e6)  # what the first query may not see
    moved = attend(queries, keys, shouting, mask)[:, :, 0][seeing[:, :, 0]]
    assert torch.equal(moved, output[:, :, 0][seeing[:, :, 0]])


@given(st.data())
@settings(max_examples=60)
def test_every_head_of_every_sub_layer(data: st.DataObject) -> None:
    model = data.draw(models())
    batch = data.draw(batches(model))
    records, config = records_of(model, batch), model.config
    late = torch.ones(2 * [batch.target.shape[1]], dtype=torch.bool).triu(1) & config.causal
    for kind, layer in sub_layers(model):
        queries, keys, values, mask, scores, weights, outputs, update = (
            records[scope(kind, layer) + name]
            for name in ("queries", "keys", "values", "mask", "scores", "weights", "head_outputs", "update")
        )
        padding = (batch.target if kind == "decoder_self" else batch.source) == config.pad_id
        if kind == "decoder_self":
            padding[:, 0] = False  # what decoding begins with is no padding, whatever its id
        hidden = padding[:, None, None] | (late if kind == "decoder_self" else False)
        assert torch.equal(~mask, hidden.expand_as(mask))
        products = queries @ keys.transpose(-2, -1)
        divisor = math.sqrt(queries.shape[-1]) if config.scaling else 1
        bias = records.get(scope(kind, layer) + "bias")
        assert (bias is not None) == (config.positions == "relative" and kind != "cross")
        products = products / divisor + (0 if bias is None else bias)
        torch.testing.assert_close(scores, products.masked_fill(~mask, -math.inf))
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
        assert not weights[~mask].any() and (weights >= 0).all()
        assert torch.equal(weights, scores.softmax(-1)) and torch.equal(weights @ values, outputs)
        output = attention_of(model, kind, layer).output
        assert isinstance(output, torch.nn.Linear)
        parts = [
            outputs[:, head] @ columns.T for head, columns in enumerate(output.weight.split(config.d_head, 1))
        ]  # MultiHead(x) is a sum over heads and a bias
        torch.testing.assert_close(sum(parts) + (0 if output.bias is None else output.bias), update, **CLOSE)


# -- the residual stream --------------------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=60)
def test_the_parts_add_up_to_the_whole(data: st.DataObject) -> None:
    model = data.draw(models())
    batch = data.draw(batches(model))
    records, config = records_of(model, batch), model.config
    for stack, side, parts in (("encoder", "source", ("self", "ff")), ("decoder", "target", ("self", "cross", "ff"))):
        norm = model.source_norm if side == "source" else model.target_norm
        assert isinstance(norm, torch.nn.LayerNorm | torch.nn.RMSNorm) == config.embedding_norm
        x = whole = norm(records[f"{side}.embedding"] + records[f"{side}.positions"])
        for number, layer in enumerate(model.encoder if stack == "encoder" else model.decoder):
            residuals = {
                "self": layer.self_residual, "ff": layer.feed_forward_residual,
                "cross": getattr(layer, "cross_residual", None),
            }  # fmt: skip
            for part in parts:
                enters, update, total, leaves = (
                    records[f"{stack}.{number}.{part}.{name}"] for name in ("enters", "update", "sum", "leaves")
                )
                assert torch.equal(enters, x) and torch.equal(total, x + update if config.residual else update)
                after = residuals[part].norm  # type: ignore[union-attr]
                assert torch.equal(leaves, after(total) if config.norm == "post" else total)
                x, whole = leaves, whole + update
        if config.norm != "post" and config.residual:
            torch.testing.assert_close(whole, x, **CLOSE)  # one stream: what entered, and all that was ever added
        final = model.encoder_norm if stack == "encoder" else model.decoder_norm
        assert isinstance(final, torch.nn.LayerNorm | torch.nn.RMSNorm) == (config.norm == "pre")
        assert torch.equal(records[f"{stack}.output"], final(x))
    torch.testing.assert_close(records["logits"], projected(model, records["decoder.output"]), **CLOSE)


@given(st.data())
@settings(max_examples=60)
def test_watching_changes_nothing(data: st.DataObject) -> None:
    """Traced and not: equal to the last bit. PyTorch's fused kernel: equal up to rounding."""
    model = data.draw(models())
    batch = data.draw(batches(model))
    plain = model(batch.source, batch.target)
    assert torch.equal(records_of(model, batch)["logits"], plain)
    torch.testing.assert_close(model(batch.source, batch.target, FUSED), plain, **CLOSE)


# -- decoding -------------------------------------------------------------------------------------------------------


def written(model: Transformer, source: Tensor, ids: Sequence[int]) -> Tensor:
    """Log-probabilities of every piece at each step of writing ids: [target, vocab]. Under the causal mask those of one
    pass; without it what a step sees ends where it writes, so each step is a pass of its own."""
    fed = torch.tensor([[model.config.start_id, *ids[:-1]]])
    if model.config.causal:
        return model(source, fed)[0].log_softmax(-1)
    return torch.stack([model(source, fed[:, :end])[0, -1].log_softmax(-1) for end in range(1, len(ids) + 1)])


@given(st.data())
@settings(max_examples=40)
def test_greedy_writes_the_most_probable_tokens_of_a_traced_pass(data: st.DataObject) -> None:
    model = data.draw(models())
    batch, limit = data.draw(batches(model)), data.draw(st.integers(1, 9))
    config, cached = model.config, data.draw(st.booleans())
    for row, found in enumerate(greedy(model, batch.source, limit, cached)):
        source = batch.source[row : row + 1, : batch.sources[row]]
        log_probs = written(model, source, found.ids)
        of_chosen = log_probs.gather(1, torch.tensor(found.ids)[:, None])[:, 0]
        torch.testing.assert_close(torch.tensor(found.log_probs), of_chosen, **CLOSE)
        log_probs[:, [config.pad_id, config.start_id]] = -math.inf
        assert (log_probs.amax(-1) - of_chosen).max() < 1e-4  # the likeliest, or one that rounding cannot tell from it
        ended = found.ids[-1] == config.end_id
        assert not ({config.pad_id, config.start_id} - {config.end_id}) & set(found.ids)
        assert ended or len(found.ids) == output_limit(model, batch.sources[row], limit)
        assert config.end_id not in found.ids[:-1]


@given(st.data())
@settings(max_examples=30)
def test_a_beam_of_one_is_greedy(data: st.DataObject) -> None:
    """With alpha 0, where the score is the sum of log-probabilities; of any width, these are those of a plain pass."""
    model = data.draw(models())
    batch, limit = data.draw(batches(model)), data.draw(st.integers(1, 5))
    narrow, wide = (beam(model, batch.source, beams, 0.0, limit) for beams in (1, 3))
    for row, (plain, one) in enumerate(zip(greedy(model, batch.source, limit), narrow, strict=True)):
        assert one.ids == plain.ids or abs(one.score - plain.score) < 1e-4
        for found in (one, wide[row]):
            every = written(model, batch.source[row : row + 1, : batch.sources[row]], found.ids)
            log_probs = every.gather(1, torch.tensor(found.ids)[:, None])[:, 0]
            torch.testing.assert_close(torch.tensor(found.log_probs), log_probs, rtol=1e-4, atol=1e-4)


# -- batches, padding, order ----------------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=60)
def test_a_sentence_does_not_know_its_batch(data: st.DataObject) -> None:
    """Neither the padding behind it nor the rows beside it."""
    model = data.draw(models())
    batch = data.draw(batches(model))
    together = model(batch.source, batch.target, data.draw(st.sampled_from((OFF, FUSED))))
    largest = max(1.0, float(together.abs().max()))  # a gated network multiplies, and its rounding
    for row, (source, target) in enumerate(zip(batch.sources, batch.targets, strict=True)):
        alone = model(batch.source[row : row + 1, :source], batch.target[row : row + 1, :target])
        torch.testing.assert_close(together[row, :target] / largest, alone[0] / largest, **CLOSE)
    order = torch.tensor(data.draw(st.permutations(range(len(batch.sources)))))
    torch.testing.assert_close(
        model(batch.source[order], batch.target[order]) / largest, together[order] / largest, **CLOSE
    )


@given(st.data())
@settings(max_examples=50)
def test_the_future_is_out_of_sight(data: st.DataObject) -> None:
    """To the last bit: whatever stands at a place, no row before it moves. Without the mask every row may."""
    model = data.draw(models())
    batch = data.draw(batches(model))
    place = data.draw(st.integers(0, batch.target.shape[1] - 1))
    changed = batch.target.clone()
    changed[:, place:] = data.draw(st.integers(1, model.config.output_size - 1))
    before, after = model(batch.source, batch.target), model(batch.source, changed)
    assert torch.equal(before[:, :place], after[:, :place]) or not model.config.causal


@given(st.data())
@settings(max_examples=50)
def test_without_positions_order_is_lost_on_the_encoder(data: st.DataObject) -> None:
    """f(P x) = P f(x), and the decoder, which adds up over the source, does not notice."""
    model = data.draw(models(positions="none"))
    batch = data.draw(batches(model, rows=1))
    order = torch.tensor(data.draw(st.permutations(range(batch.sources[0]))))
    memory = model.encode(batch.source)
    torch.testing.assert_close(model.encode(batch.source[:, order]), memory[:, order], **CLOSE)
    torch.testing.assert_close(model(batch.source[:, order], batch.target), model(batch.source, batch.target), **CLOSE)


@given(st.data())
@settings(max_examples=40)
def test_any_sizes_against_pytorch(data: st.DataObject) -> None:
    """Outputs and the weights of every head, with an nn.Transformer that has the same weights."""
    activation, positions = data.draw(st.sampled_from(sorted(ACTIVATION))), data.draw(st.sampled_from(ADDED))
    # it has no d_k and d_v of its own, always scales and adds
    usual = dict(d_k=None, d_v=None, scaling=True, residual=True, biases=True, gated=False, rms_norm=False)
    layout = data.draw(st.sampled_from(("interleaved", "halves")))
    model = data.draw(models(**usual, activation=activation, positions=positions, layout=layout))
    batch = data.draw(batches(model))
    check(model, batch.source, batch.target)
