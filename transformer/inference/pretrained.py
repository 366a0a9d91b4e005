"""A loaded checkpoint: translate texts and trace passes."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import torch
import torch.nn.functional as F

from transformer.cancellation import Progress, tell
from transformer.checkpoints.beam_rule import ALPHA, PAPER, BeamRule
from transformer.checkpoints.constraints import FREE
from transformer.checkpoints.folder import (
    LARGEST_BESIDE,
    WEIGHTS,
    WORDS,
    Checkpoint,
    CheckpointError,
    open_checkpoint,
)
from transformer.checkpoints.importers import open_folder
from transformer.checkpoints.languages import SPOKEN, Codes, between, two_languages
from transformer.checks import expect
from transformer.files import Packed, read_own, reading_file
from transformer.inference.reference import drawn, mean_outputs, sentence_outputs
from transformer.inference.sampling import Drawn, Sampling
from transformer.inference.search import (
    Hypothesis,
    Prefixes,
    check_beams,
    greedy,
    is_complete,
    most_probable,
    n_best,
    output_limit,
)
from transformer.inference.speed import LARGE, prepare_for_decoding
from transformer.interventions.edits import edits_of, joined
from transformer.interventions.sets import NONE, InterventionError, Interventions, check_interventions
from transformer.interventions.switch import HeadOutputs, Wanted
from transformer.model.config import ModelConfig
from transformer.model.tap import FUSED, OFF, AnyTap, Edit, EditingTap, TapError, in_layers
from transformer.model.transformer import Transformer
from transformer.paths import PACKAGE, checkpoint_folders
from transformer.short_repr import shortened
from transformer.text.tokenizer import PIECE_MARK, SPECIALS, UNKNOWN, AnyTokenizer, composed
from transformer.text.toys import OUTSIDE, outside
from transformer.text.words import Words
from transformer.texts import N_, Text, UserError, any_of, translate
from transformer.tracing.finite import check_edited, check_numbers
from transformer.tracing.patch import Place, patches
from transformer.tracing.trace import Trace, record_pass, trace_pass

if TYPE_CHECKING:
    from transformer.inference.ctranslate import Translator
    from transformer.tracing.batch import Kept


class InputError(UserError):
    """A text that cannot be traced or translated, because it is empty or too long.

    side: "source" or "target"; tokens: its number of tokens; limit: the number allowed (both with </s>).
    """

    def __init__(self, text: str, /, *, side: str, tokens: int, limit: int, **values: object) -> None:
        super().__init__(text, tokens=tokens, limit=limit, **values)
        self.side, self.tokens, self.limit = side, tokens, limit


class CheckpointWarning(UserWarning):
    """What one has to know of a checkpoint that opens; see `Pretrained.notes`."""


class OutsideWarning(UserWarning):
    """A text that a toy model does not read, such as 3.14 for one of whole numbers: its output means nothing. Or one
    with words that a model with a closed vocabulary was not taught."""


def _warn_outside(text: str, model: Pretrained) -> None:
    """Warn, as the caller of a method of `Pretrained` that calls another one, which calls this function."""
    told = model.words.told(text) if model.words else ""
    if toy := outside(text, model.languages):
        told = translate(OUTSIDE, language=translate(toy.what))
    if told:
        warnings.warn(f"{shortened(text)}: {told}", OutsideWarning, stacklevel=4)


Edits = Mapping[str, Edit]
Pair = tuple[str, str]
# Most sources of a batch that is drafted. Steps of many rows compute as fast as the pass that checks: with en-de and
# one thread a batch of 1 takes 1.6 times as long without drafts, of 8 1.3 times, of 32 0.9 times.
FEW = 8
REMEMBERED = 6  # sentences whose head outputs a model remembers; 0.2 MB each with en-de and 11 tokens a side
_NAMES = {"source": Text("the source"), "target": Text("the target")}
_EMPTY = {
    "source": N_("the source text is empty; type a sentence of up to {limit} tokens"),
    "target": N_("the target text is empty; type a sentence of up to {limit} tokens"),
}
_UNREADABLE = {
    "source": N_("the source text has no readable character; type a sentence of up to {limit} tokens"),
    "target": N_("the target text has no readable character; type a sentence of up to {limit} tokens"),
}
_TOO_LONG = {
    "source": N_("the source text has {tokens:,} tokens; at most {limit} are allowed, shorten it"),
    "target": N_("the target text has {tokens:,} tokens; at most {limit} are allowed, shorten it"),
}
_UNKNOWN = N_("the beginning {prefix!r} has characters that this model cannot write; leave them out")
_LONG_BEGINNING = N_(
    "the beginning has {tokens:,} tokens with </s>; a translation of this text may have {limit}, begin with less"
)


@dataclass(frozen=True)
class Translation:
    """text: the translation, also its `str`; ids, tokens: its pieces; probabilities: one per token; complete: whether
    it ends in </s>, and was not cut off at the limit; penalty: of its length, ((5 + tokens) / 6)^alpha (section 6.1).

    That of a text without a token, such as a blank one, is empty."""

    text: str = ""
    ids: tuple[int, ...] = ()
    tokens: tuple[str, ...] = ()
    probabilities: tuple[float, ...] = ()
    complete: bool = True
    penalty: float = 1.0

    def __str__(self) -> str:
        return self.text

    @property
    def score(self) -> float:
        """Sum of the natural log-probabilities of its tokens."""
        return sum(map(math.log, self.probabilities))

    @property
    def normalised(self) -> float:
        """The score divided by the length penalty: beam search ranks by it."""
        return self.score / self.penalty


def readable(pieces: Sequence[str]) -> tuple[str, ...]:
    """Pieces in readable form: without the piece mark; a piece that is only the mark becomes an open box."""
    return tuple(piece.replace(PIECE_MARK, " ").strip() or "␣" for piece in pieces)


def numbered(tokenizer: AnyTokenizer, text: str, side: str, allowed: int) -> list[int]:
    """Ids of the text. Raises InputError if there are none, or more than `allowed` with </s>."""
    expect(text, str, _NAMES[side], Text("a text"))
    ids = tokenizer.encode(text)
    tokens = len(ids) + 1 if ids else 0
    if not ids:
        texts = _UNREADABLE if text.strip() else _EMPTY
        raise InputError(texts[side], side=side, tokens=tokens, limit=allowed)
    if tokens > allowed:
        raise InputError(_TOO_LONG[side], side=side, tokens=tokens, limit=allowed)
    return ids


@dataclass(frozen=True)
class Pretrained:
    """A model with its tokenizer, shared by all viewers and never changed.

    name: folder name; languages: of source and target; metrics: scores of the checkpoint; tokenizer: of the target, and
    of the source unless there is a source_tokenizer; rule, alpha: of beam search; notes: as in `Checkpoint`; packed:
    its files, if they are in memory and `path` is not a folder. reference: sentence pairs for the switches `mean` and
    `resample`; None: the package's probe set for these languages (`transformer.probing.probes.probe_pairs`).
    """

    name: str
    path: Path
    model: Transformer
    tokenizer: AnyTokenizer
    languages: tuple[str, str]
    metrics: Mapping[str, Any]
    source_tokenizer: AnyTokenizer | None = None
    rule: BeamRule = PAPER
    alpha: float = ALPHA
    notes: tuple[Text, ...] = ()
    family: str = ""
    codes: Codes | None = None
    packed: Packed | None = field(default=None, repr=False)
    reference: tuple[Pair, ...] | None = field(default=None, repr=False)
    _outputs: dict[Wanted, HeadOutputs] = field(default_factory=dict, init=False, repr=False, compare=False)
    _draft: list[Translator | None] = field(default_factory=list, init=False, repr=False, compare=False)  # at most one

    def __repr__(self) -> str:
        config = self.config
        return (
            f"Pretrained({self.name!r}: {self.languages[0]} to {self.languages[1]}, "
            f"{self.model.parameter_count():,} parameters, {config.encoder_layers} + {config.decoder_layers} layers of "
            f"{config.heads} heads, d_model {config.d_model}, {config.output_size:,} tokens)"
        )

    @property
    def config(self) -> ModelConfig:
        return self.model.config

    def between(self, source: str, target: str) -> Pretrained:
        """The same model, which shares every tensor, for another pair of its languages; `codes.ids` has their names.
        Raises UserError."""
        return between(self, source, target)

    def beside(self, name: str, largest: int) -> bytes | None:
        """A file beside the weights, such as README.md; None if there is none. Raises OSError."""
        if not self.has_beside(name):
            return None
        return read_own(self.path / name, largest) if self.packed is None else self.packed.read(name, largest)

    def has_beside(self, name: str) -> bool:
        """Whether there is such a file beside the weights."""
        return (self.path / name).is_file() if self.packed is None else self.packed.has(name)

    @functools.cached_property
    def words(self) -> Words | None:
        """The closed vocabulary of a model that has one, and a readable list of it."""
        try:
            data = self.beside(WORDS, LARGEST_BESIDE[WORDS])
            return None if data is None else Words.read(data.decode())
        except (OSError, ValueError):
            return None

    def tokenizer_of(self, side: str) -> AnyTokenizer:
        """The tokenizer of the "source" or the "target"."""
        return self.source_tokenizer if side == "source" and self.source_tokenizer is not None else self.tokenizer

    def token_limit(self, limit: int | None = None) -> int:
        """Tokens allowed per side, with </s>: the model's positions, or `limit` if that is smaller."""
        expect(limit, (int, type(None)), "limit", Text("a whole number, or None for as many as the model can read"))
        if limit is not None and limit < 1:
            raise UserError("limit is {limit}; give a whole number of at least 1", limit=limit)
        return min(self.config.max_positions, limit or self.config.max_positions)

    def encode(self, text: str, side: str = "source", limit: int | None = None) -> list[int]:
        """Ids of the text, ending in </s>. Raises InputError if it is blank or longer than `token_limit(limit)`."""
        end = self.config.source_end if side == "source" else self.config.end_id
        return [*numbered(self.tokenizer_of(side), text, side, self.token_limit(limit)), end]

    def surfaces(self, text: str, side: str = "source") -> list[str]:
        """The text of each token of `encode(text, side)`, with the piece mark."""
        end = self.config.source_end if side == "source" else self.config.end_id
        return [*self.tokenizer_of(side).surfaces(text), *self.tokenizer.pieces([end])]

    def pad(self, source: list[int], interventions: Interventions, limit: int | None = None) -> list[int]:
        """The source's ids, followed by the <pad> tokens of the switches. Raises InputError if they do not fit."""
        pads, allowed = interventions.pads, self.token_limit(limit)
        if len(source) + pads > allowed:
            raise InputError(
                "the source text has {length:,} tokens and {pads} pad tokens; at most {limit} are allowed together, "
                "shorten the text or pad less",
                side="source", tokens=len(source) + pads, limit=allowed, length=len(source), pads=pads,
            )  # fmt: skip
        return source + [self.config.pad_id] * pads

    @staticmethod
    def probe_set(model: Pretrained) -> Sequence[Pair] | None:
        """The package's sentence pairs for a model. `transformer` puts `probe_pairs` here, a function of a package that
        this one may not import."""
        return None

    def reference_pairs(self) -> Sequence[Pair]:
        """The sentence pairs whose head outputs `mean` and `resample` take; empty if there are none."""
        return (self.probe_set(self) or ()) if self.reference is None else self.reference

    def with_reference(self, pairs: Sequence[Pair]) -> Pretrained:
        """The same model with other sentence pairs for the switches `mean` and `resample`; none may be empty.
        Raises UserError, InputError with the number of the pair."""
        expect(pairs, (list, tuple), "pairs", Text("a list of pairs of source and target"))
        if not pairs:
            raise UserError("there are no pairs; give at least one, (source, target)")
        model = replace(self, reference=tuple(pairs))
        model.numbered_pairs(model.reference_pairs())
        return model

    def outputs_elsewhere(self, wanted: Wanted) -> HeadOutputs:
        """Head outputs of other sentences without switches, remembered. Raises InterventionError."""
        found = self._outputs.get(wanted)
        if found is None:
            found = self._read_elsewhere(wanted)
            self._outputs[wanted] = found
            sentences = [key for key in tuple(self._outputs) if key is not None]  # the mean stays
            for oldest in sentences[:-REMEMBERED]:
                self._outputs.pop(oldest, None)
        return found

    def _read_elsewhere(self, wanted: Wanted) -> HeadOutputs:
        if not isinstance(wanted, tuple):
            pairs = self.reference_pairs()
            if not pairs:
                raise InterventionError(
                    "there are no reference sentences from {source} to {target} to take outputs from; resample from a "
                    "sentence of yours, or give pairs in Python: model.with_reference(pairs)",
                    source=self.languages[0], target=self.languages[1],
                )  # fmt: skip
            if wanted is None:
                return mean_outputs(self.model, self.numbered_pairs(pairs))
            wanted = drawn(pairs, wanted)
        source, target = wanted
        try:
            read = self.encode(source)
            out = self.encode(target, "target") if target.strip() else self.outputs([read])[0]
        except InputError as error:
            raise InterventionError("the sentence to resample from does not fit: {error}", error=error) from None
        return sentence_outputs(self.model, (read[:-1], out[:-1]))

    def edits(self, interventions: Interventions) -> dict[str, Edit]:
        """The switches as edits of one pass. Raises InterventionError."""
        return edits_of(interventions, self.config, self.outputs_elsewhere)

    def _checked(self, edits: Edits | None) -> dict[str, Edit]:
        """The edits by the names of a pass. Raises WrongTypeError or TapError unless these are functions by name."""
        expect(edits, (Mapping, type(None)), "edits", Text("a dict of tensor names and functions, or None"))
        found: dict[str, Edit] = {}
        for name, edit in (edits or {}).items():
            expect(name, str, Text("the name of an edit"), Text("a text"))
            if not callable(edit):
                raise TapError(
                    "the edit of {name} is {type}; give a function that takes the tensor and returns it changed",
                    name=name, type=type(edit).__name__,
                )  # fmt: skip
            layers = in_layers(name, self.config.encoder_layers, self.config.decoder_layers)
            found = joined(found, dict.fromkeys(layers, edit))
        return found

    def tap(self, interventions: Interventions, edits: Edits | None = None) -> AnyTap:
        """A tap that edits the passes of one decoding and records nothing. Raises InterventionError.

        With edits, every step runs the whole prefix, so that they get the shapes of a full pass.
        """
        check_interventions(interventions)
        edits = self._checked(edits)
        together = joined(edits, self.edits(interventions))
        if not edits:
            return EditingTap(together, interventions.replays) if together else OFF

        def explain(source: torch.Tensor, fed: torch.Tensor) -> object:
            return record_pass(self.model, source, fed, edits, interventions, self.outputs_elsewhere)

        return EditingTap(together, True, explain)

    def output_limit(self, interventions: Interventions, limit: int | None = None) -> int:
        """Tokens that decoding may write: `token_limit`, or fewer if a switch shifts the positions."""
        return min(self.token_limit(limit), self.config.max_positions - interventions.shift("target"))

    def _decode(
        self,
        source: list[int],
        beam: int,
        alpha: float | None,
        limit: int | None,
        interventions: Interventions = NONE,
        edits: Edits | None = None,
        prefix: str = "",
        sample: Sampling | None = None,
        n: int | None = None,
    ) -> list[Hypothesis]:
        """The best hypothesis, or the finished ones of beam search."""
        tap = self.tap(interventions, edits)
        allowed = output_limit(self.model, len(source), self.output_limit(interventions, limit))
        batch = torch.tensor([self.pad(source, interventions, limit)], device=self.model.device)
        (found,) = self._search(batch, beam, alpha, allowed, tap, [self.beginning(prefix, allowed)], sample, n)
        if edits and isinstance(tap, EditingTap):
            tap.check_names()
        return found

    def _search(
        self,
        batch: torch.Tensor,
        beam: int,
        alpha: float | None,
        limit: int,
        tap: AnyTap,
        prefixes: Prefixes,
        sample: Sampling | None,
        n: int | None,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each source of a batch, best first; one if there are no beams."""
        if beam > 1:
            alpha = self.alpha if alpha is None else alpha
            text_of = self.tokenizer.decode
            return n_best(self.model, batch, beam, alpha, limit, tap, self.rule, prefixes, n=n, text_of=text_of)
        if sample is None and tap.off:
            found = self.greedy(batch, limit, prefixes)
        else:
            choose = Drawn(sample, [sample.seed] * len(batch)) if sample else most_probable
            found = greedy(
                self.model, batch, limit, tap=tap, prefixes=prefixes, choose=choose, constraints=self.rule.constraints
            )
        return [[hypothesis] for hypothesis in found]

    def beginning(self, prefix: str, allowed: int) -> list[int]:
        """Ids of the text that a translation of at most `allowed` tokens has to begin with. Raises InputError."""
        expect(prefix, str, "prefix", Text("a text"))
        ids = self.tokenizer.encode(prefix)
        if SPECIALS[UNKNOWN] in self.tokenizer.pieces(ids):
            raise InputError(_UNKNOWN, side="target", tokens=len(ids) + 1, limit=allowed, prefix=prefix[:40])
        if len(ids) >= allowed:
            raise InputError(_LONG_BEGINNING, side="target", tokens=len(ids) + 1, limit=allowed)
        return ids

    def _translation(self, found: Hypothesis, alpha: float | None) -> Translation:
        log_probs = torch.tensor(found.log_probs, dtype=torch.float64)
        check_numbers(log_probs)  # the most probable of NaN is <unk>, at every step
        probabilities = tuple(log_probs.exp().tolist())
        pieces = tuple(self.tokenizer.pieces(found.ids))
        penalty = self.rule.divisor(len(found.ids), self.alpha if alpha is None else alpha) if found.ids else 1.0
        text = self.tokenizer.decode(found.ids)
        return Translation(text, found.ids, pieces, probabilities, found.complete, penalty)

    def _ranked(self, found: Sequence[Hypothesis], alpha: float | None) -> list[Translation]:
        """The hypotheses as translations; an empty one if the search found none."""
        return [self._translation(hypothesis, alpha) for hypothesis in found or [Hypothesis((), (), False)]]

    def translate(
        self,
        text: str,
        beam: int = 1,
        alpha: float | None = None,
        limit: int | None = None,
        interventions: Interventions = NONE,
        *,
        edits: Edits | None = None,
        prefix: str = "",
        sample: Sampling | None = None,
    ) -> Translation:
        """The model's translation: greedy, or by beam search with length penalty alpha (None: the checkpoint's, 0.6 as
        in section 6.1 by default), or sampled.

        edits: as in `trace`; with beam search, the decoder's tensors have one batch row for each open hypothesis.
        prefix: what the translation has to begin with. sample: draw each token instead of taking the most probable one,
        without beams. The translation of a text without a token is empty.
        Warns (OutsideWarning) of a text that a toy model does not read. Raises InputError, InterventionError; TapError
        for edits that do not fit or that make NaN; NotFiniteError if the model computes NaN; WrongTypeError.
        """
        return self._translations(text, beam, alpha, limit, interventions, edits, prefix, sample)[0]

    def n_best(
        self,
        text: str,
        beam: int = 4,
        alpha: float | None = None,
        limit: int | None = None,
        interventions: Interventions = NONE,
        *,
        n: int | None = None,
        edits: Edits | None = None,
        prefix: str = "",
    ) -> list[Translation]:
        """The finished translations of beam search, best first; the first is that of `translate`.

        n: search on until there are so many, at most `beam`, as the `num_return_sequences` of Hugging Face, and no open
        one is better than the last. None: the search ends when its best translation is certain, and what is finished
        then is returned, so there may be fewer than `beam`. Other tokens may make the same text: equal texts count
        once. An empty text is left out, if there is another one, even where it is the best. Arguments and errors as in
        `translate`.
        """
        found = self._translations(text, beam, alpha, limit, interventions, edits, prefix, n=n)
        return _different(found)[:n]

    def _translations(
        self,
        text: str,
        beam: int,
        alpha: float | None,
        limit: int | None,
        interventions: Interventions,
        edits: Edits | None,
        prefix: str,
        sample: Sampling | None = None,
        n: int | None = None,
    ) -> list[Translation]:
        source = self._read(text, limit)
        _warn_outside(text, self)
        _check_search(beam, alpha, sample, n)
        check_interventions(interventions)
        edits = self._checked(edits)
        if source is None:
            return [Translation()]
        interventions.check_lengths(source=len(source) + interventions.pads)
        found = self._decode(source, beam, alpha, limit, interventions, edits, prefix, sample, n)
        return self._ranked(found, alpha)

    def _read(self, text: str, limit: int | None = None) -> list[int] | None:
        """Ids of a text to translate; None if it has no token. Raises InputError if it is too long."""
        try:
            return self.encode(text, limit=limit)
        except InputError as error:
            if error.tokens:
                raise
            return None

    def outputs(self, sources: Sequence[Sequence[int]], limit: int | None = None) -> list[tuple[int, ...]]:
        """The greedy translation of every source, decoded in one padded batch. sources: ids from `encode`, for `trace`;
        limit: as in `trace`. Returns ids, each ending in </s> unless cut off."""
        rows = [torch.tensor(source, device=self.model.device) for source in sources]
        batch = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=self.config.pad_id)
        return [found.ids for found in self.greedy(batch, self.output_limit(NONE, limit))]

    def prepare_draft(self) -> None:
        """From now on CTranslate2 drafts greedy translations with 8 bits, so that they come sooner. They stay the same,
        because the model checks every token (`inference.drafts`). Needs `pip install '.[fast]'`; without it, and for a
        model that CTranslate2 does not know or that is LARGE, nothing changes. Takes 0.1 s and 45 MB with en-de."""
        table = self.model.embedding.weight
        if (
            not self._draft
            and self.rule.constraints == FREE
            and table.dtype == torch.float32
            and table.device.type == "cpu"
            and self.model.parameter_count() < LARGE  # CTranslate2 begins with a second copy in 32 bits
        ):
            with contextlib.suppress(ImportError, OSError):  # not installed, or no room for its file
                from transformer.inference.ctranslate import translator

                self._draft.append(translator(self.model))

    def _drafting(self) -> Translator | None:
        """What drafts translations, if one pass can check them."""
        if not any(self._draft) or self.rule.constraints != FREE:
            return None
        from transformer.inference.drafts import one_pass_will_do

        return self._draft[0] if one_pass_will_do(self.model) else None

    def greedy(
        self, source: torch.Tensor, limit: int | None = None, prefixes: Prefixes | None = None
    ) -> list[Hypothesis]:
        """What `search.greedy` finds; that of FEW sources from drafts, after `prepare_draft`. Arguments as there."""
        draft = self._drafting() if len(source) <= FEW else None
        if draft is None:
            return greedy(self.model, source, limit, prefixes=prefixes, constraints=self.rule.constraints)
        from transformer.inference.drafts import greedy_from_drafts

        return greedy_from_drafts(self.model, draft, source, limit, prefixes)

    def _drafted(self, source: Sequence[int], limit: int | None) -> tuple[int, ...]:
        """After `prepare_draft` a draft of the greedy translation, which the caller checks; else no ids."""
        draft = self._drafting()
        if draft is None:
            return ()
        longest = output_limit(self.model, len(source), self.output_limit(NONE, limit))
        return draft([source], [()], longest)[0][:longest]

    def hidden(self, source: torch.Tensor, fed: torch.Tensor, interventions: Interventions = NONE) -> torch.Tensor:
        """Teacher forcing of a batch, without a trace. source: ids [batch, source], padded; fed: ids [batch, target].

        Returns the decoder's output, [batch, target, d_model], for `model.project`. Raises InterventionError.
        """
        tap = self.tap(interventions) if interventions else FUSED
        source = F.pad(source, (0, interventions.pads), value=self.config.pad_id)
        return self.model.decode(fed, self.model.encode(source, tap), source, tap)

    def translate_all(
        self,
        texts: Sequence[str],
        beam: int = 1,
        alpha: float | None = None,
        batch_tokens: int = 3000,
        interventions: Interventions = NONE,
        *,
        prefixes: Sequence[str] | None = None,
        sample: Sampling | None = None,
    ) -> list[Translation]:
        """What `translate` finds for every text, in batches of similar length, each text as if alone.

        prefixes: what each translation has to begin with; sample: as in `translate`.
        With switches, only sources of equal length share a batch, because a switch could make padding visible. A
        switch of a token that a text lacks changes nothing there, while `translate` refuses it.
        Raises InputError with the number of the text if a text or a prefix is too long for the model; UserError if
        texts and prefixes differ in number; InterventionError; NotFiniteError; WrongTypeError.
        """
        return [many[0] for many in self._all(texts, beam, alpha, batch_tokens, interventions, prefixes, sample)]

    def n_best_all(
        self,
        texts: Sequence[str],
        beam: int = 4,
        alpha: float | None = None,
        batch_tokens: int = 3000,
        interventions: Interventions = NONE,
        *,
        n: int | None = None,
        prefixes: Sequence[str] | None = None,
    ) -> list[list[Translation]]:
        """What `n_best` finds for every text, in batches. Arguments and errors as there and in `translate_all`."""
        found = self._all(texts, beam, alpha, batch_tokens, interventions, prefixes, None, n)
        return [_different(many)[:n] for many in found]

    def _all(
        self,
        texts: Sequence[str],
        beam: int,
        alpha: float | None,
        batch_tokens: int,
        interventions: Interventions,
        prefixes: Sequence[str] | None,
        sample: Sampling | None,
        n: int | None = None,
    ) -> list[list[Translation]]:
        """For every text its translations, best first, at least one."""
        expect(texts, (list, tuple), "texts", Text("a list of texts"))
        for index, text in enumerate(texts):
            expect(text, str, f"texts[{index}]", Text("a text"))
        expect(prefixes, (list, tuple, type(None)), "prefixes", Text("a list of texts, or None"))
        if prefixes is not None and len(prefixes) != len(texts):
            raise UserError(
                "there are {texts} texts and {prefixes} prefixes; give one for each text, or none",
                texts=len(texts), prefixes=len(prefixes),
            )  # fmt: skip
        _check_search(beam, alpha, sample, n)
        check_interventions(interventions)
        tap = self.tap(interventions)
        # This module imports numpy; the import here keeps `transformer.load` fast.
        from transformer.text.batching import bucket, pad

        numbered: dict[int, list[int]] = {}
        begun: dict[int, list[int]] = {}
        longest = self.output_limit(interventions)
        for index, text in enumerate(texts):
            with _numbered_error(N_("text {number}: {error}"), index + 1):
                if source := self._read(text):
                    _warn_outside(text, self)
                    numbered[index] = self.pad(source, interventions)
                    allowed = output_limit(self.model, len(source), longest)
                    begun[index] = self.beginning(prefixes[index], allowed) if prefixes else []
        out = [[Translation()] for _ in texts]
        keys = list(numbered)
        if not keys:
            return out
        lengths = [(len(numbered[key]), len(numbered[key])) for key in keys]
        for rows in bucket(lengths, max(1, batch_tokens // beam), None, alike=bool(interventions)):
            batch = pad([numbered[keys[row]] for row in rows], self.config.pad_id).to(self.model.device)
            forced = [begun[keys[row]] for row in rows]
            found = self._search(batch, beam, alpha, longest, tap, forced, sample, n)
            for row, hypotheses in zip(rows, found, strict=True):
                out[keys[row]] = self._ranked(hypotheses, alpha)
        return out

    @overload
    def trace(
        self,
        source: str,
        target: str | None = None,
        *,
        keep: None = None,
        limit: int | None = None,
        edits: Edits | None = None,
        interventions: Interventions = NONE,
        output: Sequence[int] | None = None,
    ) -> Trace: ...
    @overload
    def trace(
        self,
        source: str,
        target: str | None = None,
        *,
        keep: Sequence[str] | str,
        limit: int | None = None,
        edits: Edits | None = None,
        interventions: Interventions = NONE,
    ) -> Kept: ...

    def trace(
        self,
        source: str,
        target: str | None = None,
        *,
        keep: Sequence[str] | str | None = None,
        limit: int | None = None,
        edits: Edits | None = None,
        interventions: Interventions = NONE,
        output: Sequence[int] | None = None,
    ) -> Trace | Kept:
        """Every tensor that the model computes for a sentence pair.

        target: the text to trace (teacher forcing); None or blank: the model's greedy translation with the
        interventions and edits. keep: instead of a Trace only these tensors, as in `trace_all`. limit: tokens allowed
        per side. edits: name, as in `keep` -> function of the tensor that returns it changed, see
        `transformer.model.tap`; during decoding it gets the tensors of a full pass over the tokens written so far.
        output: ids of the model's greedy translation, if `outputs` has decoded them.
        Raises InputError; InterventionError; KeepError; TapError for edits that do not fit or that make infinity or
        NaN; WrongTypeError.
        """
        source_ids = self.encode(source, "source", limit)
        expect(target, (str, type(None)), "target", Text("a text, or None for the model's own translation"))
        check_interventions(interventions)
        edits = self._checked(edits)
        own = target is None or not target.strip()
        draft: tuple[int, ...] = ()
        if own and keep is None and not (output or interventions or edits):
            draft = self._drafted(source_ids, limit)
        if own:
            out = list(output or draft or self._decode(source_ids, 1, 0.0, limit, interventions, edits)[0].ids)
        else:
            assert target is not None
            out = self.encode(target, "target", limit)
        fed = [self.config.start_id, *out[:-1]]
        padded = self.pad(source_ids, interventions, limit)
        interventions.check_lengths(source=len(padded), **({} if own else {"target": len(fed)}))
        if keep is not None:
            return self._keep(keep, padded, out, interventions, edits)
        tensors = self._pass(padded, fed, out, interventions, edits)
        if draft:
            from transformer.inference.drafts import judge

            if judge(self.config, tensors["logits"], [draft])[0].written != draft:
                return self.trace(source, limit=limit, output=self.outputs([source_ids], limit)[0])
        return self._trace(source, None if own else target, padded, out, tensors, interventions, edits, limit)

    def _keep(
        self, keep: Sequence[str] | str, source: list[int], out: list[int], interventions: Interventions, edits: Edits
    ) -> Kept:
        """These tensors of one pass. source: with the <pad> tokens of the switches."""
        from transformer.tracing.batch import keep_pass, kept, wanted_of

        wanted, start = wanted_of(keep, self.config), self.config.start_id
        looked_at = {**wanted, **{name: [name] for name in edits}}
        read, fed = (torch.tensor([ids], device=self.model.device) for ids in (source, [start, *out[:-1]]))

        def records(edits: Edits) -> Mapping[str, torch.Tensor]:
            return keep_pass(self.model, read, fed, looked_at, joined(edits, self.edits(interventions)))

        found = records(edits)
        if edits:
            check_edited(found, edits, lambda: records({}))
        return kept(wanted, found, source, out, start)

    def _trace(
        self,
        source: str,
        target: str | None,
        source_ids: list[int],
        out: Sequence[int],
        tensors: Mapping[str, Any],
        interventions: Interventions = NONE,
        edits: Edits | None = None,
        limit: int | None = None,
    ) -> Trace:
        """The Trace of a pass. source_ids: with the <pad> tokens of the switches; target: None for the model's own."""
        allowed = output_limit(
            self.model, len(source_ids) - interventions.pads, self.output_limit(interventions, limit)
        )
        fed = [self.config.start_id, *out[:-1]]
        labels = readable(self.surfaces(source))
        pieces = self.tokenizer.pieces(out) if target is None else self.surfaces(target, "target")
        out_labels = readable(pieces)
        return Trace(
            checkpoint=self.name,
            languages=self.languages,
            source_text=composed(source),
            target_text=self.tokenizer.decode(out) if target is None else composed(target),
            own=target is None,
            complete=target is not None or is_complete(out, allowed, self.config.end_id, self.rule.constraints),
            source_ids=tuple(source_ids),
            target_in_ids=tuple(fed),
            target_out_ids=tuple(out),
            source_tokens=tuple(self.tokenizer_of("source").pieces(source_ids)),
            target_in=tuple(self.tokenizer.pieces(fed)),
            target_out=tuple(self.tokenizer.pieces(out)),
            source_labels=(*labels, *["<pad>"] * interventions.pads),
            target_in_labels=(*readable(self.tokenizer.pieces(fed[:1])), *out_labels[:-1]),
            target_out_labels=out_labels,
            interventions=interventions,
            edits=tuple(sorted(edits or ())),
            causal=self.config.causal,
            **tensors,
        )

    def patch(self, trace: Trace, other: Trace, places: Sequence[Place]) -> Trace:
        """Trace the first sentence again, with the other one's numbers at these places: activation patching.

        A place of all tokens needs as many in both; a place of one may take it from another row of the other sentence
        (`Place`). Switches of the first trace stay.
        Raises PatchError, also for a place that they lack; EditedError for a first trace with edits of its own;
        NotFiniteError for NaN in the other one.
        """
        return self.retrace(trace, trace.interventions, edits=patches(trace, other, places))

    def trace_all(
        self,
        pairs: Sequence[tuple[str, str]],
        keep: Sequence[str] | str = ("cross.weights",),
        batch_tokens: int = 1000,
        progress: Progress = lambda done, total: True,
    ) -> list[Kept]:
        """Chosen tensors of many sentence pairs with their given targets, in padded batches.

        keep: one name or several: of a Trace's fields, "cross.weights", "encoder_output", or of one layer's tensor,
        "decoder.1.cross.weights" (`names`). The numbers of `trace`, up to rounding: with 32 bits, to 2e-6 of the
        largest number of the tensor, or of the scores for weights (with en-de and 164 pairs: to 1.6e-6, and to 1e-5 in
        one row with scores of 240). Faster, and nothing else is kept in memory. progress: called with (pairs done, all)
        after each batch; False stops (Stopped).
        Raises KeepError; InputError with the number of the pair.
        """
        from transformer.text.batching import bucket  # imports numpy; the import here keeps `transformer.load` fast
        from transformer.tracing.batch import trace_batch

        numbered = self.numbered_pairs(pairs)
        found: dict[int, Kept] = {}
        for rows in bucket([(len(s) + 1, len(t) + 1) for s, t in numbered], batch_tokens, None):
            kept = trace_batch(self.model, [numbered[row] for row in rows], keep)
            found |= dict(zip(rows, kept, strict=True))
            tell(progress, len(found), len(pairs))
        return [found[row] for row in range(len(numbered))]

    def trace_many(self, pairs: Iterable[tuple[str, str | None]], batch_tokens: int = 1000) -> Iterator[Trace]:
        """Whole traces of many sentence pairs, one after the other, in their order; a target that is None or blank is
        the model's translation.

        Those of at most `batch_tokens` padded tokens a side share a pass, and only they are in memory. The numbers of
        `trace`, up to rounding, as in `trace_all`. Raises InputError with the number of the pair.
        """
        from transformer.tracing.batch import fields_batch  # imports numpy; see above

        def traced(batch: list[tuple[str, str | None, list[int], list[int]]]) -> Iterator[Trace]:
            open_ones = [read for _, target, read, _ in batch if target is None]
            own = iter(self.outputs(open_ones) if open_ones else ())
            outs = [list(next(own)) if target is None else out for _, target, _, out in batch]
            ids = [(read[:-1], out[:-1]) for (_, _, read, _), out in zip(batch, outs, strict=True)]
            for (source, target, read, _), out, fields in zip(batch, outs, fields_batch(self.model, ids), strict=True):
                yield self._trace(source, target, read, out, {**fields, **_probabilities(fields["logits"], out)})

        batch: list[tuple[str, str | None, list[int], list[int]]] = []
        longest = 0
        for number, (source, target) in enumerate(map(_two, itertools.count(1), pairs), start=1):
            given = target if target and target.strip() else None
            with _numbered_error(N_("pair {number}: {error}"), number):
                read, out = self.encode(source), self.encode(given, "target") if given else []
            longest = max(longest, len(read), len(out))
            if batch and longest * (len(batch) + 1) > batch_tokens:
                yield from traced(batch)
                batch, longest = [], max(len(read), len(out))
            batch.append((source, given, read, out))
        if batch:
            yield from traced(batch)

    def names(self) -> dict[str, tuple[int | str, ...]]:
        """Every tensor of a pass, in its order, with its shape: {"decoder.0.cross.weights": ("batch", 8, "target",
        "source"), ...}. These are names to `keep`, and for `edits`; what they are: help(transformer.model.tap)."""
        from transformer.tracing.shapes import shapes

        return shapes(self.model)

    def trainable(self) -> Pretrained:
        """A copy whose parameters take gradients; this model keeps its own. Its `model` is a `torch.nn.Module` like any
        other: model.trainable().model(source, target_in) gives logits with their graph."""
        network = Transformer(self.config).to(self.model.embedding.weight).eval()
        network.load_state_dict(self.model.state_dict())
        return replace(self, model=network)

    def numbered_pairs(self, pairs: Sequence[Pair]) -> list[tuple[list[int], list[int]]]:
        """Ids of every pair, without </s>. Raises InputError with the number of the pair; ValueError for what is not
        two texts."""
        numbered = []
        for number, (source, target) in enumerate(map(_two, itertools.count(1), pairs), start=1):
            with _numbered_error(N_("pair {number}: {error}"), number):
                numbered.append((self.encode(source)[:-1], self.encode(target, "target")[:-1]))
        return numbered

    def _pass(
        self,
        source: Sequence[int],
        fed: Sequence[int],
        out: Sequence[int],
        interventions: Interventions,
        edits: Edits | None = None,
    ) -> dict[str, Any]:
        """The tensor fields of a Trace."""
        device = self.model.device
        read, given = torch.tensor([source], device=device), torch.tensor([fed], device=device)
        tensors = trace_pass(self.model, read, given, edits, interventions, self.outputs_elsewhere)
        return {**tensors, **_probabilities(tensors["logits"], out)}

    def retrace(
        self,
        trace: Trace,
        interventions: Interventions = NONE,
        *,
        edits: Edits | None = None,
        fed: Mapping[int, int] | None = None,
        read: Mapping[int, int] | None = None,
        order: Sequence[int] | None = None,
        limit: int | None = None,
    ) -> Trace:
        """Trace the same tokens again with other switches and edits, so that both traces can be compared cell by cell.

        interventions, edits: instead of those of the trace; edits as in `trace`.
        fed: position in target_in -> id to feed there instead (target_out stays); shows the leak.
        read: position in the source -> id to read there instead; the target stays.
        order: the source's tokens in another order, as indices of the old order; shows equivariance.
        Raises InterventionError; InputError if the padding does not fit; TapError for edits as in `trace`;
        ValueError for invalid positions or ids; WrongTypeError.
        """
        expect(trace, Trace, "trace", Text("a Trace, as model.trace returns it"))
        check_interventions(interventions)
        edits = self._checked(edits)
        for name, changes in (("fed", fed), ("read", read)):
            expect(changes, (Mapping, type(None)), name, Text("a dict of positions and ids, or None"))
        pads = trace.interventions.pads
        real = len(trace.source_ids) - pads
        order = range(real) if order is None else order
        if sorted(order) != list(range(real)):
            raise ValueError(f"{list(order)} is not an order of {real} tokens; name each index from 0 once")
        sources = (trace.source_ids[:real], trace.source_tokens[:real], trace.source_labels[:real])
        ids, source_tokens, source_labels = self._exchanged("source", sources, read or {})
        source_ids = self.pad([ids[index] for index in order], interventions, limit)
        targets = (trace.target_in_ids, trace.target_in, trace.target_in_labels)
        target_in, tokens, labels = self._exchanged("target", targets, fed or {})
        interventions.check_lengths(source=len(source_ids), target=len(target_in))
        added = ["<pad>"] * interventions.pads
        return replace(
            trace,
            source_ids=tuple(source_ids),
            source_tokens=(*(source_tokens[index] for index in order), *added),
            source_labels=(*(source_labels[index] for index in order), *added),
            target_in_ids=tuple(target_in),
            target_in=tuple(tokens),
            target_in_labels=tuple(labels),
            interventions=interventions,
            edits=tuple(sorted(edits or ())),
            **self._pass(source_ids, target_in, trace.target_out_ids, interventions, edits),
        )

    def _exchanged(
        self, side: str, row: tuple[tuple[int, ...], tuple[str, ...], tuple[str, ...]], changes: Mapping[int, int]
    ) -> tuple[list[int], list[str], list[str]]:
        """Ids, tokens and labels of a side with other ids at some positions. Raises ValueError for invalid ones."""
        ids, tokens, labels = list(row[0]), list(row[1]), list(row[2])
        tokenizer, size = self.tokenizer_of(side), len(self.model.table(side))
        for position, token_id in changes.items():
            if not 0 <= position < len(ids) or not 0 <= token_id < size:
                raise ValueError(
                    f"no id {token_id} at position {position}: there are {size} ids and {len(ids)} positions, from 0"
                )
            (piece,) = tokenizer.pieces([token_id])
            ids[position], tokens[position], labels[position] = token_id, piece, readable([piece])[0]
        return ids, tokens, labels


@torch.inference_mode()
def _probabilities(logits: Any, out: Sequence[int]) -> dict[str, torch.Tensor]:
    """A field of a Trace."""
    return {"probabilities": logits.softmax(-1).gather(1, torch.tensor(out)[:, None])[:, 0]}


def _two(number: int, pair: Any) -> Any:
    """The same pair. Raises UserError if it is none."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise UserError(
            "pair {number} is {pair}; give two texts, (source, target)", number=number, pair=shortened(pair)
        )
    return pair


@contextlib.contextmanager
def _numbered_error(text: str, number: int) -> Iterator[None]:
    """An InputError in this block says of which text or pair it is. text: with {number} and {error}."""
    try:
        yield
    except InputError as error:
        about = {"side": error.side, "tokens": error.tokens, "limit": error.limit}
        raise InputError(text, **about, number=number, error=error) from None  # type: ignore[arg-type]


def _different(found: Sequence[Translation]) -> list[Translation]:
    """The best translation of each text; an empty text only if there is no other."""
    best: dict[str, Translation] = {}
    for one in found:
        best.setdefault(one.text, one)
    return [one for text, one in best.items() if text.strip()] or list(best.values())


def _check_search(beam: int, alpha: float | None, sample: Sampling | None, n: int | None) -> None:
    expect(alpha, (int, float, type(None)), "alpha", Text("a number, or None for the checkpoint's"))
    check_beams(beam, 0.0 if alpha is None else alpha, n)
    expect(sample, (Sampling, type(None)), "sample", Text("a Sampling, or None"))
    if sample is not None and beam > 1:
        raise UserError("sampling has no beams; give beam=1, or no sample")


def available() -> dict[str, Path]:
    """Name -> folder of every checkpoint that can be loaded by name, in the order of the searched folders."""
    checkpoints: dict[str, Path] = {}
    for folder in checkpoint_folders():
        with contextlib.suppress(OSError):  # a folder without permission
            for path in sorted(folder.iterdir()) if folder.is_dir() else ():
                with contextlib.suppress(OSError):
                    if (path / "config.json").is_file() and not path.name.startswith("."):  # one that is being fetched
                        checkpoints.setdefault(path.name, path)
    return checkpoints


def _is_folder(path: Path) -> bool:
    """Whether this is a folder; False for a name that is too long for the system."""
    try:
        return path.is_dir()
    except OSError:
        return False


DTYPES = {str(one).removeprefix("torch."): one for one in (torch.float32, torch.float64, torch.bfloat16, torch.float16)}


def load(name: str | Path, device: torch.device | str = "cpu", dtype: torch.dtype | str = torch.float32) -> Pretrained:
    """Load a bundled checkpoint by its name, or any checkpoint by the path of its folder, also of another project's
    model (`checkpoints.importers`). A model for many languages may be followed by two of them:
    "nllb-200@eng_Latn-kor_Hang".

    device: "cpu", "cuda" or "mps"; traces are always on the CPU. dtype: what it computes in, torch.float64 or
    "float64", float32, bfloat16 or float16; sinusoids are those of float32. Traces have at least 32 bits.

    Warns (CheckpointWarning) of what another project's folder has that is done in another way here. Raises
    CheckpointError if the checkpoint is missing or damaged.
    """
    expect(name, (str, Path), "name", Text("the name of a checkpoint, or the path of a folder"))
    kind = DTYPES.get(dtype) if isinstance(dtype, str) else dtype
    if kind not in DTYPES.values():
        raise UserError(
            "there is no dtype {dtype}; choose {names}", dtype=shortened(dtype), names=any_of(DTYPES, dtype)
        )
    known = available()
    path = known.get(str(name), Path(name))
    whole, mark, pair = str(name).rpartition(SPOKEN)
    if mark and not _is_folder(path) and (whole in known or _is_folder(Path(whole))):
        return load(whole, device, dtype).between(*two_languages(pair))
    recurrent = PACKAGE / "rnn" / "checkpoints"
    if not _is_folder(path) and recurrent.is_dir() and str(name) in {other.name for other in recurrent.iterdir()}:
        path = recurrent / name  # `open_folder` explains what it is
    if not _is_folder(path) and re.fullmatch(r"[\w.-]+/[\w.-]+", str(name), re.ASCII):
        raise CheckpointError(
            "there is no folder {name!r}; a model of the Hugging Face Hub is fetched with: headscope get {name}",
            name=str(name)[:200],
        )
    if not _is_folder(path) and not known:
        raise CheckpointError(
            "there is no checkpoint {name!r}; give the path of a checkpoint folder", name=str(name)[:200]
        )
    if not _is_folder(path):
        raise CheckpointError(
            "there is no checkpoint {name!r}; give the path of a folder, or choose {names}",
            name=str(name)[:200],
            names=any_of(known, str(name)),
        )
    with reading_file(path, CheckpointError):
        checkpoint = open_folder(path)
    for note in checkpoint.notes:
        warnings.warn(f"{checkpoint.name}: {note}", CheckpointWarning, stacklevel=2)
    return _in_use(checkpoint, device, dtype=kind)


def open_files(files: Mapping[str, bytes], name: str, device: torch.device | str = "cpu") -> Pretrained:
    """Load a checkpoint from the bytes of its files, with the same checks as for a folder. name: the checkpoint's name,
    with which error messages begin. Raises CheckpointError."""
    beside = {file: data for file, data in files.items() if file != WEIGHTS}  # the model holds the weights
    return _in_use(replace(open_checkpoint(files, name), name=name), device, Packed(name, beside))


def _in_use(
    checkpoint: Checkpoint[Transformer],
    device: torch.device | str,
    packed: Packed | None = None,
    dtype: torch.dtype | None = None,
) -> Pretrained:
    try:
        model = checkpoint.model.to(device, dtype)
    except torch.OutOfMemoryError:
        raise
    except (RuntimeError, AssertionError, TypeError) as error:  # unknown to torch, or not on this machine
        raise CheckpointError(
            "device {device} cannot be used here; choose cpu, or cuda or mps where the machine has one",
            device=repr(device)[:60],
        ) from error
    prepare_for_decoding(model)
    return Pretrained(**{**vars(checkpoint), "model": model}, packed=packed)
