"""The languages of a model that translates between many: each has a code, a token beside the text."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from reprlib import repr as shown
from typing import Any, TypeVar

from transformer.texts import UserError, any_of

SPOKEN = "@"  # in a name, before the two languages: "nllb-200@eng_Latn-kor_Hang"
Spoken = TypeVar("Spoken", bound=Any)  # a Checkpoint or a Pretrained


@dataclass(frozen=True)
class Codes:
    """ids: language -> id of its code. source_first: the source's code stands before the text; otherwise after its
    </s>. target_first: the decoder reads the target's code first; otherwise it reads <s> and writes the code first."""

    ids: Mapping[str, int]
    source_first: bool = True
    target_first: bool = False

    def of(self, language: str) -> int:
        """Raises UserError for a language that the model does not know."""
        if language not in self.ids:
            raise UserError(
                "this model does not know the language {language}; choose {languages}",
                language=shown(language), languages=any_of(sorted(self.ids), language),
            )  # fmt: skip
        return self.ids[language]


def two_languages(text: str) -> tuple[str, str]:
    """Source and target of what stands behind SPOKEN in a name. Raises UserError."""
    source, mark, target = text.partition("-")
    if not (source and mark and target):
        raise UserError("{text} is not a pair of languages; write for example eng_Latn-kor_Hang", text=shown(text))
    return source, target


def between(model: Spoken, source: str, target: str) -> Spoken:
    """The same model, which shares every tensor, for another pair of languages. Raises UserError."""
    codes: Codes | None = model.codes
    if codes is None:
        raise UserError(
            "{name} has no language codes; it translates from {source} to {target}",
            name=model.name, source=model.languages[0], target=model.languages[1],
        )  # fmt: skip
    read, written, end = codes.of(source), codes.of(target), model.model.config.end_id
    network = copy.copy(model.model)
    network.config = replace(
        network.config,
        source_end_id=None if codes.source_first else read,
        start_id=written if codes.target_first else network.config.start_id,
    )
    constraints = replace(model.rule.constraints, first=None if codes.target_first else written)
    return replace(
        model,
        model=network,
        languages=(source, target),
        source_tokenizer=(
            model.source_tokenizer.around((read,)) if codes.source_first else model.source_tokenizer.around((), (end,))
        ),
        tokenizer=model.tokenizer.around(() if codes.target_first else (written,)),
        rule=replace(model.rule, constraints=constraints),
    )
