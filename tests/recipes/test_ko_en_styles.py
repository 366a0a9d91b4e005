"""A Korean sentence in the other styles, solved by hand."""

from typing import Any

import pytest

from recipes.ko_en.check import make_kiwi, read_table
from recipes.ko_en.styles import restyled

CASES = {
    "저는 매일 음악을 들어요.": ("저는 매일 음악을 듣습니다.", "나는 매일 음악을 듣는다.", "나는 매일 음악을 들어."),
    "내 방은 작지만 따뜻하다.": ("제 방은 작지만 따뜻해요.", "제 방은 작지만 따뜻합니다.", "내 방은 작지만 따뜻해."),
    "저것은 제 가방이 아닙니다.": (
        "저것은 제 가방이 아니에요.",
        "저것은 내 가방이 아니다.",
        "저것은 내 가방이 아니야.",
    ),
    "지우는 의사예요.": ("지우는 의사입니다.", "지우는 의사다.", "지우는 의사야."),
    "우유를 마시지 않아요.": ("우유를 마시지 않습니다.", "우유를 마시지 않는다.", "우유를 마시지 않아."),
    "별로 맵지 않아요.": ("별로 맵지 않습니다.", "별로 맵지 않다.", "별로 맵지 않아."),
    "내일 비가 올 거예요.": ("내일 비가 올 겁니다.", "내일 비가 올 것이다.", "내일 비가 올 거야."),
    "할머니께서 방에서 주무신다.": (
        "할머니께서 방에서 주무세요.",
        "할머니께서 방에서 주무십니다.",
        "할머니께서 방에서 주무셔.",
    ),
    "어디에 갔어요?": ("어디에 갔습니까?", "어디에 갔어?"),
    "이게 뭐야?": ("이게 뭐예요?", "이게 뭡니까?"),
    "제가 내일 전화할게요.": ("내가 내일 전화할게.",),
    "빨리 와.": (),  # may be a command
    "천천히 말해 주세요.": (),
    "네, 알겠습니다.": (),
    "이게 좋아요. 그게 좋아요.": (),
}


@pytest.fixture(scope="module")
def kiwi() -> Any:
    pytest.importorskip("kiwipiepy")
    return make_kiwi(read_table("vocabulary.tsv"))


@pytest.mark.parametrize("korean", CASES)
def test_styles(kiwi: Any, korean: str) -> None:
    verbs = frozenset({"듣다", "마시다", "주무시다"})
    assert tuple(restyled(korean, ["It is so."], kiwi, verbs).values()) == CASES[korean]


def test_a_proposal_stays_what_it_is(kiwi: Any) -> None:
    assert restyled("같이 가요.", ["Let's go together."], kiwi, frozenset()) == {}
    assert restyled("같이 가요.", ["We go together."], kiwi, frozenset())["합니다"] == "같이 갑니다."
