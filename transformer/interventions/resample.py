"""Resample ablation of heads."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote_plus

from transformer.interventions.reposition import SEEDS
from transformer.interventions.substitute import Substitute
from transformer.interventions.switch import EVERYWHERE, WHOLE, InterventionError, Where, brief

LONGEST_SENTENCE = 1_000  # characters
_TEXT, _TARGET = "text.", "|"


@dataclass(frozen=True)
class Resample(Substitute):
    """Heads whose output is replaced with that for another sentence, read without switches.

    other: a text, whose target is the model's own greedy translation; or a pair of source and target; or a seed, which
    draws a pair of the reference sentences (`Pretrained.reference`). Row r gets row r of the other sentence; if that is
    shorter, its rows start again from the first. If two apply to a head, the later one wins; `KnockOut` wins over both.
    """

    other: int | str | tuple[str, str]
    where: Where = EVERYWHERE

    PARAMS = ("resample",)
    EXAMPLES = ("resample=7@cross.2.1", "resample=text.ka+lo@encoder_self.1", "resample=text.ka+lo|re+sta@decoder_self")
    ORDERED = True

    def __post_init__(self) -> None:
        super().__post_init__()
        given: object = (self.other, "") if isinstance(self.other, str) else self.other
        low, high = SEEDS
        if isinstance(given, tuple) and len(given) == 2 and all(isinstance(text, str) for text in given):
            if not given[0].strip():
                raise InterventionError("the sentence to resample from is empty; type one, or give a seed")
            if max(map(len, given)) > LONGEST_SENTENCE:
                raise InterventionError(
                    "the sentence to resample from has {count:,} characters; at most {most:,} are allowed",
                    count=max(map(len, given)),
                    most=LONGEST_SENTENCE,
                )
            # A lone half of a character has no place in a link.
            given = tuple(text.encode("utf-8", "replace").decode("utf-8") for text in given)
        elif type(given) is not int or not low <= given <= high:
            raise InterventionError(
                "{value} is nothing to resample from; give a sentence, or a seed from {low} to {high}",
                value=brief(given),
                low=low,
                high=high,
            )
        object.__setattr__(self, "other", given)

    @property
    def setting(self) -> str:
        if isinstance(self.other, int):
            return str(self.other)
        return _TEXT + _TARGET.join(_quoted(text) for text in self.other if text)

    @classmethod
    def read(cls, setting: str, where: Where, param: str) -> Resample:
        if WHOLE.fullmatch(setting):
            return cls(int(setting), where)
        if not setting.startswith(_TEXT):
            raise InterventionError(
                "{value} is nothing to resample from; write a seed, such as 7, or text.SENTENCE with + for blanks, "
                "such as text.The+dog+barks",
                value=brief(setting),
            )
        source, _, target = setting.removeprefix(_TEXT).partition(_TARGET)
        return cls((unquote_plus(source), unquote_plus(target)), where)

    @property
    def wanted(self) -> int | tuple[str, str]:
        assert not isinstance(self.other, str)  # a pair since `__post_init__`
        return self.other


def _quoted(text: str) -> str:
    """As JavaScript's encodeURIComponent, with + for blanks: without the characters that separate switches."""
    return quote(text, safe="!~*'()").replace("%20", "+")
