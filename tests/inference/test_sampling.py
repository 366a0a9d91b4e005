"""Sampling: which tokens are left, what is drawn, and with which random numbers."""

import dataclasses

import pytest
import torch

from tests.inference.test_search import SEEDS, lively_model
from tests.support.build import padded_sources
from transformer.inference.sampling import Drawn, Sampling, SamplingError
from transformer.inference.search import greedy, most_probable

FOUR = [0.5, 0.3, 0.15, 0.05]


@pytest.mark.parametrize(
    ("sampling", "wanted"),
    [
        (Sampling(), FOUR),
        (Sampling(temperature=0.5), [0.25 / 0.365, 0.09 / 0.365, 0.0225 / 0.365, 0.0025 / 0.365]),  # squares
        (Sampling(top_k=2), [0.625, 0.375, 0, 0]),
        (Sampling(top_k=9), FOUR),
        (Sampling(top_p=0.5), [1, 0, 0, 0]),  # the first alone has p
        (Sampling(top_p=0.6), [0.625, 0.375, 0, 0]),
        (Sampling(top_p=0.81), [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0]),
        (Sampling(top_k=3, top_p=0.84), [0.625, 0.375, 0, 0]),  # of the three, the first two have 0.842
        (Sampling(temperature=0.5, top_p=0.69), [0.25 / 0.34, 0.09 / 0.34, 0, 0]),  # 0.685 is not enough
    ],
)
def test_what_is_left_by_hand(sampling: Sampling, wanted: list[float]) -> None:
    order = [2, 0, 3, 1]
    shuffled = torch.tensor([[FOUR[index] for index in order], FOUR]).log()
    first, second = sampling.narrow(shuffled).exp().tolist()
    assert second == pytest.approx(wanted, abs=1e-6) and first == pytest.approx([wanted[i] for i in order], abs=1e-6)


def test_of_equal_tokens_the_first_stays_and_none_returns_that_is_never_written() -> None:
    probs = torch.tensor([[0.0, 0.25, 0.25, 0.5]]).log()
    assert Sampling(top_k=2).narrow(probs).exp()[0].tolist() == pytest.approx([0, 1 / 3, 0, 2 / 3])
    assert Sampling(temperature=1e6).narrow(probs).exp()[0].tolist() == pytest.approx(
        [0, 1 / 3, 1 / 3, 1 / 3], abs=1e-5
    )


def test_tokens_are_drawn_by_their_probability() -> None:
    draw, count = Drawn(Sampling(top_k=3), [0]), 4000
    drawn = [int(draw(torch.tensor([FOUR]).log(), [0])) for _ in range(count)]
    for token, share in enumerate([0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0.0]):
        assert abs(drawn.count(token) - count * share) <= 4 * (count * share * (1 - share)) ** 0.5


def test_the_seed_decides_and_each_sentence_has_its_own_numbers() -> None:
    model, source = lively_model(1), padded_sources(1, (7, 4, 5))
    many = [greedy(model, source, 12, choose=Drawn(Sampling(seed=seed), [seed] * 3)) for seed in (1, 1, 2)]
    assert many[0] == many[1] != many[2]
    for row, length in enumerate((7, 4, 5)):
        (alone,) = greedy(model, source[row : row + 1, :length], 12, choose=Drawn(Sampling(seed=1), [1]))
        assert alone.ids == many[0][row].ids


@pytest.mark.parametrize("seed", SEEDS[:3])
@pytest.mark.parametrize("sampling", [Sampling(top_k=1), Sampling(temperature=1e-4), Sampling(top_p=1e-9)])
def test_one_token_left_is_greedy(sampling: Sampling, seed: int) -> None:
    model, source = lively_model(seed), padded_sources(seed, (6, 3))
    found = greedy(model, source, 12, choose=Drawn(sampling, [sampling.seed] * 2))
    assert [h.ids for h in found] == [h.ids for h in greedy(model, source, 12, choose=most_probable)]


def test_the_score_is_that_of_the_model_not_of_what_was_left() -> None:
    model, source = lively_model(2), padded_sources(2, (5,))
    (plain,), (sampled,) = greedy(model, source, 8), greedy(model, source, 8, choose=Drawn(Sampling(top_k=1), [0]))
    assert sampled.log_probs == pytest.approx(plain.log_probs)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"temperature": 0}, "temperature is 0; choose a number above 0"),
        ({"temperature": float("nan")}, "temperature is nan; choose a number above 0"),
        ({"top_k": -1}, "top_k is -1; choose a whole number of at least 0"),
        ({"top_p": 0.0}, "top_p is 0.0; choose a number above 0, up to 1"),
        ({"seed": 1.5}, "seed is 1.5; choose a whole number of at least 0"),
    ],
)
def test_invalid_settings_give_one_sentence(changes: dict[str, float], sentence: str) -> None:
    with pytest.raises(SamplingError) as refused:
        dataclasses.replace(Sampling(), **changes)  # type: ignore[arg-type]
    assert str(refused.value) == sentence
