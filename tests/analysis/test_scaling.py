"""Random q and k against theory, and a model's own against a plain loop."""

import dataclasses
import itertools
import math
import statistics

import pytest
import torch
from torch import Tensor

from tests.support.build import tiny_pretrained
from transformer.analysis.scaling import (
    BINS,
    DEPTHS,
    LIMIT,
    OWN_BINS,
    WAYS,
    RandomExperiment,
    own_variances,
    random_experiment,
)
from transformer.tracing.trace import KINDS, AttentionTrace


@pytest.fixture(scope="module")
def experiment() -> RandomExperiment:
    return random_experiment(0)


def tensors(experiment: RandomExperiment) -> dict[str, Tensor]:
    values = {field.name: getattr(experiment, field.name) for field in dataclasses.fields(experiment)}
    return {name: value for name, value in values.items() if isinstance(value, Tensor)}


def test_shapes_and_sums(experiment: RandomExperiment) -> None:
    ways, depths = len(WAYS), len(DEPTHS)
    assert experiment.variance.shape == experiment.scaled_variance.shape == (depths,)
    assert experiment.histogram.shape == (depths, BINS)
    assert experiment.scores.shape == experiment.weights.shape == (ways, depths, 10)
    assert experiment.entropy.shape == experiment.largest.shape == experiment.room.shape == (ways, depths)
    assert torch.allclose(experiment.weights.sum(-1), torch.ones(ways, depths, dtype=torch.float64))
    assert torch.allclose(experiment.weights[..., 0], experiment.largest)
    assert (experiment.weights.diff() <= 0).all() and (experiment.scores.diff() <= 0).all()
    assert all(bool(value.isfinite().all()) for value in tensors(experiment).values())
    share = experiment.histogram.sum(-1) * 2 * LIMIT / BINS  # the normal curve has 0.99994 within 4 deviations
    assert (share <= 1 + 1e-12).all() and share.min() > 0.97 and share[-1] > 0.999


@pytest.mark.parametrize("seed", range(4))
def test_the_variance_is_d_k_as_the_footnote_says(seed: int) -> None:
    """One product s = q.k has E s^2 = d and E s^4 = 3 d^2 + 6 d; two that share q have Cov(s^2, t^2) = 2 d. So the mean
    of s^2 over R rows of K keys has the variance (2 d^2 + 6 d + (K - 1) 2 d) / (R K): relative to d^2 that is
    (2 + (2 K + 4) / d) / (R K). Five of its roots are allowed, from d = 16 on: below, s^2 has long tails."""
    rows, keys = 256, 10
    found = random_experiment(seed, rows, keys, depths=[d for d in DEPTHS if d >= 16])
    depths = torch.tensor(found.depths).double()
    allowed = 5 * ((2 + (2 * keys + 4) / depths) / (rows * keys)).sqrt()
    assert allowed.max() < 0.22 and allowed[-1] < 0.15
    assert ((found.variance / depths - 1).abs() < allowed).all()
    assert torch.allclose(found.scaled_variance, found.variance / depths, rtol=1e-12)


def test_without_scaling_the_softmax_saturates_as_the_paper_suspects(experiment: RandomExperiment) -> None:
    """Unscaled, the softmax closes with d_k; scaled and additive, it keeps the room it had."""
    scaled, unscaled, additive = range(3)
    assert experiment.room[unscaled, -1] < 0.1 < 0.5 < experiment.room[unscaled, 0]
    assert experiment.largest[unscaled, -1] > 0.9 and experiment.entropy[unscaled, -1] < 0.1
    drawn = [experiment.weights[unscaled, DEPTHS.index(d), 0] for d in (1, 4, 16, 32, 64, 256, 1024)]
    assert all(a < b for a, b in itertools.pairwise(drawn))  # the bars never saturate less at a larger d_k
    assert (experiment.entropy[unscaled].diff() < 0.05).all()
    for way in (scaled, additive):
        for measure in (experiment.entropy, experiment.largest, experiment.room):
            assert measure[way].max() - measure[way].min() < 0.2


def test_means_over_rows_from_the_definition() -> None:
    """Two rows of two keys and one depth, drawn again in the same order."""
    found = random_experiment(7, rows=2, keys=2, depths=(3,))
    generator = torch.Generator().manual_seed(7)
    q, k = torch.randn(2, 3, generator=generator), torch.randn(2, 2, 3, generator=generator)
    w, u, v = (torch.randn(n, 3, generator=generator) for n in (3, 3, 2))
    dots = [[sum(float(a) * float(b) for a, b in zip(q[r], k[r, j], strict=True)) for j in range(2)] for r in range(2)]
    added = [
        [
            sum(
                math.sqrt(2 / 4) * float(v[r, i]) * math.tanh(float(w[i] @ q[r] + u[i] @ k[r, j]) / math.sqrt(3))
                for i in range(3)
            )
            for j in range(2)
        ]
        for r in range(2)
    ]
    assert found.variance.item() == pytest.approx(statistics.variance([x for row in dots for x in row]), rel=1e-6)
    for way, rows in enumerate(([[x / math.sqrt(3) for x in row] for row in dots], dots, added)):
        first = [1 / (1 + math.exp(b - a)) for a, b in rows]  # the weight of the first of two keys
        entropy = [-sum(p * math.log(p) for p in (x, 1 - x)) / math.log(2) for x in first]
        ordered = [sorted(row, reverse=True) for row in rows]
        means = [statistics.mean(values) for values in zip(*ordered, strict=True)]
        assert found.scores[way, 0].tolist() == pytest.approx(means, rel=1e-5)
        assert found.weights[way, 0, 0].item() == found.largest[way, 0].item()
        assert found.entropy[way, 0].item() == pytest.approx(statistics.mean(entropy), rel=1e-5)
        assert found.largest[way, 0].item() == pytest.approx(statistics.mean(max(x, 1 - x) for x in first), rel=1e-5)
        assert found.room[way, 0].item() == pytest.approx(statistics.mean(2 * x * (1 - x) for x in first), rel=1e-5)


def test_a_seed_is_a_draw(experiment: RandomExperiment) -> None:
    before = torch.random.get_rng_state()
    again, other = random_experiment(0), random_experiment(1)
    assert torch.equal(before, torch.random.get_rng_state())  # its own generator
    for name, value in tensors(experiment).items():
        assert torch.equal(value, getattr(again, name)), name
        assert not torch.equal(value, getattr(other, name)), name


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**63}, "2^63 - 1"),
        ({"rows": 1}, "1 rows and 10 keys"),
        ({"keys": 1}, "at least 2"),
        ({"depths": ()}, "[]"),
        ({"depths": (0, 2)}, "[0, 2]"),
        ({"depths": (4, 4)}, "increasing"),
    ],
)
def test_refusals(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError) as error:
        random_experiment(**arguments)  # type: ignore[arg-type]
    assert words in str(error.value) and "\n" not in str(error.value)


@pytest.fixture(scope="module", params=KINDS)
def attention(request: pytest.FixtureRequest) -> AttentionTrace:
    return tiny_pretrained().trace("ka lomi nu.", "re sta").attention(request.param)


def test_measured_variances_are_those_of_the_visible_products(attention: AttentionTrace) -> None:
    found = own_variances(attention)
    layers, heads, queries, d_k = attention.queries.shape
    visible = attention.mask.expand(layers, heads, queries, attention.keys.shape[2])
    assert found.d_k == d_k and found.histogram.shape == (layers, heads, OWN_BINS)
    for layer, head in itertools.product(range(layers), range(heads)):
        q, k = (side[layer, head].double() for side in (attention.queries, attention.keys))
        dots = torch.einsum("id,jd->ij", q, k)[visible[layer, head]] / math.sqrt(d_k)
        limit = max(LIMIT, float(dots.abs().max()))
        wanted = {
            "query": q.var(correction=0), "key": k.var(correction=0), "query_square": (q * q).mean(),
            "key_square": (k * k).mean(), "product": dots.var(correction=0), "mean": dots.mean(), "limit": limit,
        }  # fmt: skip
        for name, value in wanted.items():
            assert getattr(found, name)[layer, head].item() == pytest.approx(float(value), rel=1e-6), name
        width, counts = 2 * limit / OWN_BINS, [0] * OWN_BINS
        for x in dots.tolist():
            counts[min(OWN_BINS - 1, int((x + limit) / width))] += 1
        assert (found.histogram[layer, head] * width * len(dots)).tolist() == pytest.approx(counts)


def test_nothing_falls_out_of_a_heads_histogram(attention: AttentionTrace) -> None:
    wide = dataclasses.replace(attention, queries=attention.queries * 50)
    found = own_variances(wide)
    assert found.limit.max() > LIMIT
    area = found.histogram.sum(-1) * 2 * found.limit / OWN_BINS
    assert torch.allclose(area, torch.ones_like(area))
    assert torch.allclose(found.product, own_variances(attention).product * 2500)
    assert torch.allclose(found.key, own_variances(attention).key)


def test_a_mask_of_every_head_means_the_same_and_may_hide_everything(attention: AttentionTrace) -> None:
    products = attention.weights.shape
    wide = dataclasses.replace(attention, mask=attention.mask.expand(products).clone())
    one, other = own_variances(attention), own_variances(wide)
    for field in dataclasses.fields(one):
        assert torch.equal(torch.as_tensor(getattr(one, field.name)), torch.as_tensor(getattr(other, field.name)))
    wide.mask[1, 2] = False
    blind = own_variances(wide)
    assert blind.product[1, 2].isnan() and blind.product.isnan().sum() == 1
    assert torch.equal(blind.query, one.query) and not blind.histogram[1, 2].nan_to_num(0).any()


def test_random_numbers_in_a_trace_have_unit_variance(attention: AttentionTrace) -> None:
    """400 tokens, d_k = 64: a variance of 25,600 numbers lies within 5 sqrt(2 / 25,600) = 0.044 of 1."""
    generator = torch.Generator().manual_seed(2)
    q, k = (torch.randn(2, 3, 400, 64, generator=generator) for _ in range(2))
    mask = torch.ones(400, 400, dtype=torch.bool).tril()
    found = own_variances(dataclasses.replace(attention, queries=q, keys=k, mask=mask))
    assert (found.query - 1).abs().max() < 0.044 and (found.key - 1).abs().max() < 0.044
    assert (found.product - 1).abs().max() < 0.1 and found.mean.abs().max() < 0.1
    assert found.unit().all()
    assert not own_variances(dataclasses.replace(attention, queries=2 * q, keys=k, mask=mask)).unit().any()
