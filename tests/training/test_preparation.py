"""Text prepared for published scores."""

import pytest

from transformer.training.data import DataError
from transformer.training.preparation import Preparation


def test_preparation_none_does_not_change_text() -> None:
    none = Preparation("none", ("en", "de"))
    assert none.pairs([("A  b.", "C d!")]) == [("A  b.", "C d!")] and none.restore("C d !") == "C d !"


def test_moses_cuts_lowers_and_joins_again() -> None:
    pytest.importorskip("sacremoses")
    moses = Preparation("moses-lowercase", ("en", "de"))
    assert moses.pairs([("The man's dog, it’s big.", "Der „große“ Hund ist da.")]) == [
        ("the man 's dog , it 's big .", 'der " große " hund ist da .')
    ]
    assert moses.restore("der hund , der bellt .") == "der hund, der bellt."


def test_an_unknown_name_gives_a_message() -> None:
    with pytest.raises(DataError, match="unknown preparation 'lower'; choose none or moses-lowercase"):
        Preparation("lower", ("en", "de"))
