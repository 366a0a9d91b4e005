"""Roles of heads, worked out by hand on attention that is made up."""

import math

import pytest
import torch
from torch import Tensor

from transformer.analysis.heads import Seen
from transformer.analysis.roles import BROAD, Role, Roles, roles, to_dict, word_counts

WORDS = ("the", "dog", "barks", ".", None)
TARGET_OUT = ("der", "hund", "bellt", ".", None)
TARGET_IN = (None, "der", "hund", "bellt", ".")
LIST = {"dog": frozenset({"hund"}), "barks": frozenset({"bellt"})}


def links(keys: list[int], count: int = 5) -> Tensor:
    """Every row's whole weight on one key, as the only head of the only layer."""
    return torch.eye(count)[keys][None, None]


def sentence(encoder: Tensor, decoder: Tensor | None = None, cross: Tensor | None = None) -> Seen:
    causal = torch.ones(5, 5).tril().bool()
    decoder = links([0, 1, 2, 3, 4]) if decoder is None else decoder
    heads = {"encoder_self": encoder, "decoder_self": decoder, "cross": links([4] * 5) if cross is None else cross}
    whole = torch.ones(5, 5, dtype=torch.bool)
    masks = {"encoder_self": whole[:1], "decoder_self": causal, "cross": whole[:1]}
    return Seen(heads, masks, WORDS, TARGET_IN, TARGET_OUT)


def share(found: Roles, name: str) -> tuple[float, float]:
    """The share of the first head, and the baseline."""
    index = found.names.index(name)
    return float(found.shares[index, 0, 0]), float(found.baselines[index])


def test_every_role_of_hand_made_heads() -> None:
    found = roles([sentence(links([1, 2, 3, 4, 4]))])["encoder_self"]  # the next token; the last row itself
    assert share(found, "next") == (1.0, pytest.approx(1 / 5)) and share(found, "previous")[0] == 0
    assert share(found, "same") == (1 / 5, pytest.approx(1 / 5))
    assert share(found, "resting") == (2 / 5, pytest.approx(1 / 5))  # a key 0, 1, .. 4 away is right in one row of five
    assert share(found, "punctuation") == (1 / 5, pytest.approx(1 / 5))
    assert found.rows[found.names.index("next")] == 4
    role = found.role(0, 0)
    assert role is not None and role.name == "next" and role.share == 1


def test_alignment_is_read_by_the_token_predicted_and_by_the_token_fed_in() -> None:
    seen = sentence(links([0] * 5), cross=links([0, 1, 2, 3, 4]))
    found = roles([seen], LIST)["cross"]
    assert share(found, "predicted") == (1.0, 1.0)  # here a head that looks straight across does it too
    assert share(found, "fed") == (0.0, 1.0)
    assert found.role(0, 0) is None
    later = roles([sentence(links([0] * 5), cross=links([4, 0, 1, 2, 3]))], LIST)["cross"]
    assert share(later, "fed")[0] == 1 and share(later, "predicted")[0] == 0
    assert "predicted" not in roles([seen])["cross"].names


def test_decoder_rows_stand_at_the_token_fed_in() -> None:
    found = roles([sentence(links([0] * 5), links([0, 0, 0, 0, 0]))])["decoder_self"]
    assert "next" not in found.names
    # Four rows see more than <s>; a head of even weights reaches 1/2, 1/3, 1/4 and 1/5 there.
    assert share(found, "resting") == (1.0, pytest.approx((1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4))
    assert share(found, "previous")[0] == 1 / 4


def test_the_rarest_word_is_among_those_that_the_row_sees() -> None:
    common = Seen(sentence(links([0] * 5)).weights, sentence(links([0] * 5)).masks, ("the", "cat", "dog", ".", None),
                  TARGET_IN, TARGET_OUT)  # fmt: skip
    found = roles([sentence(links([2] * 5)), common])["encoder_self"]
    # "barks" and "cat" occur once, the others twice: the first sentence's links are right, the second's wrong.
    assert share(found, "rarest")[0] == 1 / 2
    assert word_counts([("a", "a", "b", None, "b")]) == {"a": 1, "b": 2}


def test_a_broad_head_has_no_weight_above_twice_the_even_one() -> None:
    even = torch.full((1, 1, 5, 5), 1 / 5)
    sharp = torch.tensor([BROAD / 5 + 0.1, *[(1 - BROAD / 5 - 0.1) / 4] * 4]).expand(1, 1, 5, 5)
    assert share(roles([sentence(even)])["encoder_self"], "broad") == (1.0, 0.0)
    assert share(roles([sentence(sharp)])["encoder_self"], "broad") == (0.0, 0.0)


def test_chance_is_no_role() -> None:
    assert Role("next", 0.5, 0.05, 0.2).over
    assert not Role("next", 0.5, 0.16, 0.2).over  # 0.2 is inside the interval
    assert not Role("next", 0.29, 0.001, 0.2).over and not Role("broad", 0.2, 0.001, 0.0).over


def test_evidence_names_the_sentences_where_the_role_is_strongest_and_weakest() -> None:
    made = [links([1, 2, 3, 4, 4]), links([0, 0, 0, 0, 0]), links([1, 2, 0, 0, 0])]
    found = roles([sentence(one) for one in made])["encoder_self"]
    assert found.evidence("next", 0, 0, 1) == ([(0, 1.0)], [(1, 0.0)])
    assert found.evidence("next", 0, 0, 3) == ([(0, 1.0), (2, 0.5), (1, 0.0)], [])
    shares = found.by_sentence[:, found.names.index("next"), 0, 0]
    assert shares.tolist() == [1.0, 0.0, 0.5]
    # Standard error of a ratio: residuals 2, -2, 0 over 12 rows.
    assert float(found.errors[found.names.index("next"), 0, 0]) == pytest.approx(math.sqrt(8) / 12)


def test_measures_and_the_map_of_heads() -> None:
    three = torch.cat([links([1, 2, 3, 4, 4]), links([1, 2, 3, 4, 4]), links([0] * 5)], 1)
    found = roles([sentence(three)])["encoder_self"]
    # Without the end token's row and weight: of the first head the row of "." looks only there.
    assert found.confidence.tolist() == [[3 / 4, 3 / 4, 1]] and found.entropy.tolist() == [[0, 0, 0]]
    assert roles([sentence(links([0] * 5), cross=links([0, 1, 2, 4, 4]))])["cross"].confidence.tolist() == [[3 / 5]]
    assert found.distance.tolist() == [[4 / 5, 4 / 5, 2]]
    assert found.divergence[0, 1] == 0 and found.divergence[0, 2] == pytest.approx(1.0)  # one bit: nothing in common
    points = found.plane()
    assert torch.allclose((points[0] - points[2]).norm(), torch.tensor(1.0).double())
    assert torch.allclose(points[0], points[1], atol=1e-6)


def test_the_numbers_as_json() -> None:
    written = to_dict(roles([sentence(links([1, 2, 3, 4, 4]))])["encoder_self"])
    assert written["role"] == [["next"]]
    assert written["roles"]["next"] == {"share": [[1.0]], "error": [[0.0]], "baseline": 0.2, "rows": 4}
    with pytest.raises(ValueError, match="at least one sentence"):
        roles([])
