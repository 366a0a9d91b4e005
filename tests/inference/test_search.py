import itertools
import math

import pytest
import torch

from tests.support.build import VARIANTS, padded_sources, tiny_model, variant_name
from tests.support.sentences import typed
from transformer.checkpoints.beam_rule import length_penalty
from transformer.inference import search
from transformer.inference.pretrained import load
from transformer.inference.search import EXTRA_LENGTH, beam, greedy, n_best, output_limit

SEEDS = (1, 2, 3, 4, 5, 6)
variants = pytest.mark.parametrize("changes", VARIANTS, ids=variant_name)
END = 3


def lively_model(seed, **changes):
    """A random model that writes different pieces and ends at different steps.

    Tied embeddings make a random model repeat what it is fed; a random last LayerNorm stops that, or an output matrix
    of its own where there is none. Positions and source are made to matter more, and </s> likelier.
    """
    model = tiny_model(seed, **{"tied_output": changes.get("norm") != "none", **changes})
    last = model.decoder_norm if model.config.norm == "pre" else model.decoder[-1].feed_forward_residual.norm
    if isinstance(last, torch.nn.LayerNorm | torch.nn.RMSNorm):
        last.weight.copy_(torch.randn(last.weight.shape, generator=torch.Generator().manual_seed(seed)))
    model.positions.table *= 20 if model.config.positions == "learned" else 4
    for layer in model.decoder:
        layer.cross_attention.output.weight *= 3
    model.output_table[END] *= 3
    return model


def _forced(model, source, ids):
    """Log-probabilities of ids by one teacher-forced pass, and those of all pieces: [target], [target, vocab].

    Without the causal mask by a pass a step, of what is fed up to it."""
    fed = torch.tensor([[model.config.start_id, *ids[:-1]]])
    ends = [len(ids)] if model.config.causal else range(1, len(ids) + 1)
    rows = [model(source, fed[:, :end])[0].log_softmax(-1) for end in ends]
    every = rows[0] if model.config.causal else torch.stack([row[-1] for row in rows])
    return every.gather(1, torch.tensor(ids)[:, None])[:, 0], every


def test_random_models_write_varied_outputs():
    sources = {seed: padded_sources(seed, (7, 4, 2, 5, 3)) for seed in SEEDS}
    models = [(lively_model(seed, **changes), sources[seed]) for changes in VARIANTS for seed in SEEDS]
    found = [h.ids for model, source in models for h in greedy(model, source, 20)]
    lengths = {len(ids) for ids in found}
    assert 20 in lengths and len(lengths) > 6  # some cut off at the limit, others ended at different steps
    assert len(set(found)) > len(found) / 4 and max(len(set(ids)) for ids in found) > 4


@pytest.mark.parametrize("write", [greedy, beam])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_batch_equals_each_sentence_alone(write, seed):
    lengths = (7, 4, 2, 5, 3)
    model, source = lively_model(seed), padded_sources(seed, lengths)
    for row, (length, ours) in enumerate(zip(lengths, write(model, source, limit=15), strict=True)):
        (alone,) = write(model, source[row : row + 1, :length], limit=15)
        assert ours.ids == alone.ids and ours.log_probs == pytest.approx(alone.log_probs, abs=1e-5)


@pytest.mark.parametrize("write", [greedy, beam])
def test_start_and_pad_are_never_written(write, monkeypatch):
    """Though the model would like them best, after every token."""
    model = tiny_model(1)
    says(monkeypatch, model, {token: {0: 0.5, 2: 0.4, 5: 0.1} for token in range(model.config.vocab_size)})
    written = {i for h in write(model, padded_sources(1), limit=5) for i in h.ids}
    assert 5 in written and not written & {0, 2}


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_wide_beam_is_an_exhaustive_search(alpha, seed):
    vocab, steps = 7, 4
    model = lively_model(seed, vocab_size=vocab)
    source = padded_sources(seed, (5,), vocab=vocab)
    ordinary = [1, 4, 5, 6]
    finished = []
    for length in range(steps):
        for ids in itertools.product(ordinary, repeat=length):
            probs, _ = _forced(model, source, [*ids, END])
            finished.append((probs.sum().item() / length_penalty(length + 1, alpha), [*ids, END]))
    value, ids = max(finished)
    (found,) = beam(model, source, (len(ordinary) + 1) ** steps, alpha, limit=steps)  # nothing falls out of the beam
    assert list(found.ids) == ids
    assert found.score / length_penalty(len(ids), alpha) == pytest.approx(value, abs=1e-5)
    if alpha == 0:  # sums only fall, so that the last of n is certain too
        (five,) = n_best(model, source, (len(ordinary) + 1) ** steps, alpha, limit=steps, n=5)
        assert [list(one.ids) for one in five[:5]] == [ids for _value, ids in sorted(finished, reverse=True)[:5]]


def test_beam_search_finds_translations_that_greedy_search_misses():
    """Of 12 typed sentences, without a length penalty: none is less probable, and some are clearly more."""
    model, texts = load("en-de"), typed(60)[:12]
    pairs = zip(model.n_best_all(texts, 4, alpha=0.0), model.n_best_all(texts, 1), strict=True)
    gains = [searched[0].score - plain[0].score for searched, plain in pairs]
    assert min(gains) > -1e-3 and max(gains) > 0.1


@pytest.mark.parametrize(("length", "limit", "wanted"), [(7, None, 57), (7, 9, 9), (20, None, 64), (7, 99, 57)])
def test_output_limit(length, limit, wanted):
    assert EXTRA_LENGTH == 50  # section 6.1
    assert output_limit(tiny_model(max_positions=64), length, limit) == wanted


@pytest.mark.parametrize("write", [greedy, beam])
def test_each_row_has_the_limit_of_its_own_length(write):
    model = lively_model(1, max_positions=128)
    model.embedding.weight[END] = -10 * model.embedding.weight[5]
    model.embedding.weight[5] *= 10  # one of the two is far ahead at every step; keep sources that never end
    found = write(model, padded_sources(3, (11, 2, 5)))
    assert all(len(h.ids) <= n + EXTRA_LENGTH for h, n in zip(found, (11, 2, 5), strict=True))


@pytest.mark.parametrize("write", [greedy, beam])
def test_output_fills_the_positions_and_no_more(write):
    model = lively_model(1, max_positions=8)
    model.embedding.weight[END] = 0
    model.embedding.weight[5] *= 3
    (found,) = write(model, padded_sources(1, (7,)))
    assert len(found.ids) <= 8


def test_length_penalty_by_hand():
    assert length_penalty(1, 0.6) == 1.0
    assert length_penalty(7, 1.0) == 2.0  # (5 + 7) / 6
    assert length_penalty(19, 0.5) == 2.0  # sqrt(24 / 6)


def says(monkeypatch, model, after):
    """Let the model have these probabilities after each token."""

    def logits(_, fed):
        rows = torch.full((len(fed), model.config.output_size), -30.0)
        for row, token in enumerate(fed[:, 0].tolist()):
            for following, probability in after.get(token, {}).items():
                rows[row, following] = math.log(probability)
        return rows

    monkeypatch.setattr(search.IncrementalDecoder, "logits", logits)


def test_the_search_goes_on_until_there_are_n_texts(monkeypatch):
    """By hand, three beams: </s> has 0.6 at once, which is certain; A </s> has 0.3 and B A </s> 0.1."""
    model, a, b = tiny_model(1), 5, 6
    says(monkeypatch, model, {model.config.start_id: {END: 0.6, a: 0.3, b: 0.1}, a: {END: 1.0}, b: {a: 1.0}})
    source = padded_sources(1, (4,))

    def found(n, text_of=str):
        (many,) = n_best(model, source, 3, alpha=0.0, limit=5, n=n, text_of=text_of)
        return [one.ids for one in many[:n]]

    short, middle, long = (END,), (a, END), (b, a, END)
    assert found(None) == found(1) == [short]
    assert found(2) == [short, middle] and found(3) == [short, middle, long]
    assert found(2, lambda ids: str(ids[-2:])) == [short, middle]  # the long one ends in the same text
    assert found(3, lambda ids: str(ids[-2:]))[:2] == [short, middle]  # and a third one is none of these
    assert found(2, lambda ids: "" if len(ids) == 1 else str(ids)) == [short, middle]
    assert len(found(3, lambda ids: "" if len(ids) == 1 else str(ids))) == 3  # a blank one does not count


def test_a_hypothesis_that_ends_first_leaves_room_for_longer_ones(monkeypatch):
    """By hand, one beam: </s> has 0.6 at once; A has 0.4 and then </s> for certain. With alpha 4 the longer one wins:
    ln 0.4 / (7/6)^4 = -0.495 against ln 0.6 = -0.511."""
    model, a = tiny_model(1), 5
    says(monkeypatch, model, {model.config.start_id: {END: 0.6, a: 0.4}, a: {END: 1.0}})
    (found,) = beam(model, padded_sources(1, (4,)), 1, alpha=4.0, limit=5)
    assert found.ids == (a, END) and found.score == pytest.approx(math.log(0.4))
    (short,) = beam(model, padded_sources(1, (4,)), 1, alpha=0.0, limit=5)
    assert short.ids == (END,)
