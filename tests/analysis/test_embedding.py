"""Lengths, neighbours and the plane of the tokens: by hand, against a loop and against eigenvectors."""

import math
import statistics

import numpy as np
import pytest
import torch

from tests.support.build import D_MODEL, pretrained_variant
from transformer.analysis.embedding import neighbours, norms, plane, turned
from transformer.analysis.residual import states

SOURCE, TARGET = "ka lo minu", "re sta"


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
def test_norms_of_embeddings_and_positions(positions: str) -> None:
    model = pretrained_variant(positions=positions)
    trace = model.trace(SOURCE, TARGET)
    table = model.model.embedding.weight
    for side, ids in (("source", trace.source_ids), ("target", trace.target_in_ids)):
        found = norms(trace, side)
        row = table[list(ids)].double().square().sum(-1).sqrt()
        added = getattr(trace, f"{side}_positions").double().square().sum(-1).sqrt()
        for ours, wanted in ((found.row, row), (found.scaled, row * math.sqrt(D_MODEL)), (found.positions, added)):
            torch.testing.assert_close(ours.double(), wanted, rtol=1e-6, atol=0)
        if model.config.positions == "none":
            assert found.ratio == found.ratio_off == math.inf
        else:
            middle = statistics.median((found.scaled / found.positions).tolist())
            assert found.ratio == pytest.approx(middle) and found.ratio_off == pytest.approx(middle / D_MODEL**0.5)
            assert found.drowned == pytest.approx(statistics.median((found.positions / found.row).tolist()))


def test_an_unknown_side_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown side 'middle'; choose source or target"):
        norms(pretrained_variant().trace(SOURCE, TARGET), "middle")


def test_neighbours_by_hand() -> None:
    table = torch.tensor([[3.0, 4.0], [0.0, 0.0], [0.6, 0.8], [-6.0, -8.0], [4.0, 3.0], [-4.0, 3.0], [0.0, 2.0]])
    found = neighbours(table, 0)
    assert found.ids == (2, 4, 6, 1, 5, 3)  # equals in the order of their ids
    expected = {2: 1.0, 4: 24 / 25, 6: 4 / 5, 1: 0.0, 5: 0.0, 3: -1.0}
    assert dict(zip(found.ids, found.cosines, strict=True)) == pytest.approx(expected, abs=1e-6)
    assert neighbours(table, 0, count=2).ids == (2, 4)
    assert neighbours(table, 0, count=2, leave_out=(2, 6)).ids == (4, 1)
    assert neighbours(table, 1).cosines == (0.0,) * 6  # a row of zeros has no direction
    assert found.median == pytest.approx(0.4, abs=1e-6)  # halfway from 0 to 4/5
    none = neighbours(table, 4, leave_out=range(7))
    assert none.ids == none.cosines == () and math.isnan(none.median)


def test_an_id_outside_the_table_is_refused() -> None:
    for token in (-1, 7):
        with pytest.raises(ValueError, match=f"there is no token id {token}; choose 0 to 6"):
            neighbours(torch.ones(7, 2), token)


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_the_plane_against_eigenvectors_of_the_covariance(stack: str) -> None:
    """numpy's, of the covariance summed over the places."""
    found = states(pretrained_variant(encoder_layers=3).trace(SOURCE, TARGET), stack)
    result = plane(found)
    places = []
    for place, rows in enumerate(found.double().numpy()):
        own = np.cov(rows, rowvar=False, bias=True)
        assert result.spread[place].item() == pytest.approx(np.trace(own) ** 0.5, abs=1e-9)
        places.append(own / np.trace(own))
    values, vectors = np.linalg.eigh(sum(places))
    for number in (0, 1):
        vector = vectors[:, -1 - number]
        vector = vector * np.sign(vector[np.abs(vector).argmax()])
        np.testing.assert_allclose(result.basis[number].numpy(), vector, atol=1e-8)
        for place, rows in enumerate(found.double().numpy()):
            expected = (rows - rows.mean(0)) @ vector / result.spread[place].item()
            np.testing.assert_allclose(result.points[place, :, number].numpy(), expected, atol=1e-8)
    for place, own in enumerate(places):
        shown = sum(axis @ own @ axis for axis in result.basis.numpy())
        assert result.share[place].item() == pytest.approx(shown, abs=1e-9)
        assert result.best[place].item() == pytest.approx(np.linalg.eigvalsh(own)[-2:].sum(), abs=1e-9)
    assert result.share.sum().item() == pytest.approx(values[-2:].sum(), abs=1e-9)
    assert bool((result.share <= result.best + 1e-12).all())


def test_the_plane_of_one_token_is_a_point() -> None:
    found = plane(torch.randn(3, 1, 7, generator=torch.Generator().manual_seed(0)))
    assert not found.points.any() and found.share.isnan().all() and not found.basis.isnan().any()


def test_vectors_turn_by_the_angle_they_are_turned_by() -> None:
    # Two tokens: one turns by 60 degrees and grows, one points the other way; then both are back.
    start = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    moved = torch.tensor([[3.0, 3.0 * math.sqrt(3)], [0.0, -1.0]])
    assert turned(torch.stack((start, moved, 5 * start))).tolist() == pytest.approx([1.0, (0.5 - 1.0) / 2, 1.0])
    assert turned(torch.zeros(2, 3, 4)).tolist() == [0.0, 0.0]
