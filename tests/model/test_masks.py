import pytest
import torch

from transformer.model.masks import causal_mask, padding_mask, real_tokens


def test_padding_is_hidden_from_every_query():
    ids = torch.tensor([[5, 6, 3, 0, 0], [7, 3, 0, 0, 0]])
    mask = padding_mask(ids, pad_id=0)
    assert mask.shape == (2, 1, 1, 5) and mask.dtype == torch.bool
    assert mask[:, 0, 0].tolist() == [[True, True, True, False, False], [True, True, False, False, False]]


def test_padding_is_the_id_of_the_configuration():
    assert padding_mask(torch.tensor([[0, 9, 0]]), pad_id=9)[0, 0, 0].tolist() == [True, False, True]


def test_the_first_token_fed_is_real_even_if_it_is_padding():
    assert real_tokens(torch.tensor([[0, 4, 0]]), pad_id=0).tolist() == [[True, True, False]]


def test_the_future_is_hidden():
    assert causal_mask(3)[0, 0].tolist() == [[True, False, False], [True, True, False], [True, True, True]]


@pytest.mark.parametrize("length", [1, 2, 7, 31])
def test_position_q_sees_keys_up_to_q(length):
    mask = causal_mask(length)
    assert mask.shape == (1, 1, length, length) and mask.dtype == torch.bool
    for query in range(length):
        assert mask[0, 0, query].tolist() == [key <= query for key in range(length)]


def test_both_together():
    mask = causal_mask(3) & padding_mask(torch.tensor([[0, 4, 5], [4, 5, 0]]), pad_id=0)
    assert mask.shape == (2, 1, 3, 3)
    assert mask[0, 0].tolist() == [[False, False, False], [False, True, False], [False, True, True]]
    assert mask[1, 0].tolist() == [[True, False, False], [True, True, False], [True, True, False]]
