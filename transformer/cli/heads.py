"""Measure what each head does: its role, how far that is above what a head without a role reaches, and its entropy."""

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformer.analysis.heads import READINGS, HeadStatistics, WordList, read_word_list, statistics, to_dict
from transformer.analysis.roles import NAMES, Roles, roles
from transformer.analysis.roles import to_dict as roles_to_dict
from transformer.cli import common
from transformer.cli.corpus import Broken, add_corpus, corpus_of, values_over
from transformer.corpus.heads import chunks_with_words, total
from transformer.corpus.reading import Corpus
from transformer.corpus.tasks import job
from transformer.files import read_text
from transformer.inference.pretrained import InputError, Pretrained, load
from transformer.probing.roles import LARGEST_WORDS, sentences_of, word_list
from transformer.texts import N_, _, columns, pad, translate
from transformer.training.data import Pair

SUMMARY = N_("Measure what each head does, beside what a head without a role would reach; and how sharp it is.")
POSITIONAL, ALIGNED = 0.9, 0.75
NONE = "–"
TITLES = {
    "encoder_self": N_("encoder self-attention"),
    "decoder_self": N_("decoder self-attention"),
    "cross": N_("cross-attention"),
}
LEGEND = N_(
    """\
One line for each head, LAYER.HEAD. Its role is what is farthest above its baseline, the better of even weights and of
always looking the same number of tokens away (for previous, same and next: even weights); share: of the rows that show
it. "–": nothing is in 25% of the rows and 10 points above its baseline, by more than chance (95%). A decoder row
stands at the token fed in; only "predicted" reads it by the token that it predicts.
  confidence             mean of the largest weight of a row, without the end token of the source
  entropy                mean over the rows; 0: one key, 1: all keys equally
  distance               mean number of tokens between the row and what it attends to
  previous, same, next   the token before the row's token, the row's token itself, or the token after it
  predicted, fed in      the source word that the word list pairs with the token that the row predicts, or is fed
  start/end              the end token of the source; in the decoder the start token
  mark, rarest           a punctuation mark; the word with the fewest occurrences in the sentences
  broad                  no weight is more than twice the even one"""
)


def add(parser: argparse.ArgumentParser) -> None:
    common.add_checkpoint(parser)
    parser.add_argument(
        "--words",
        type=Path,
        metavar="FILE",
        help=_("lines SOURCE WORD<tab>TARGET WORDS for the alignment (default: the list of the built-in pairs)"),
    )
    parser.add_argument(
        "--evidence",
        action="store_true",
        help=_("name the sentences with the strongest and the weakest evidence for the role of each head"),
    )
    common.add_device(parser)
    add_corpus(parser, _("default for English to German, Korean to English and toy tasks: built-in pairs"))
    common.add_json(
        parser,
        _("also write the numbers to this file; the explorer shows those of heads.json in the checkpoint's folder"),
    )


COLUMNS = (
    (N_("head"), 6), (N_("share"), 8), (N_("baseline"), 10), (N_("confidence"), 12), (N_("entropy"), 9),
    (N_("distance"), 10),
)  # fmt: skip
ROLE = 13  # columns of the terminal


def line(found: Roles, layer: int, head: int) -> str:
    """Place, role, its share and baseline, confidence, entropy and distance of a head, as in COLUMNS; "–" for the role
    and its numbers if it has none."""
    role, place = found.role(layer, head), f"{layer + 1}.{head + 1}"
    if role is None:
        name, shares = NONE, [NONE, NONE]
    else:
        name = translate(NAMES[role.name])
        shares = [f"{100 * value:.0f}%" for value in (role.share, role.baseline)]
    measured = ((found.confidence, 2), (found.entropy, 2), (found.distance, 1))
    numbers = [f"{float(one[layer, head]):.{digits}f}".replace("nan", NONE) for one, digits in measured]
    cells = (pad(text, wide, right=True) for text, (_name, wide) in zip((*shares, *numbers), COLUMNS[1:], strict=True))
    return f"{pad(place, COLUMNS[0][1], right=True)}  {pad(name, ROLE)}{''.join(cells)}"


def evidence(found: Roles, pairs: Sequence[Pair], layer: int, head: int) -> dict[str, list[dict[str, Any]]] | None:
    """The sentences with the strongest and the weakest evidence for the role of a head, as the page Head roles has
    them, with the share of their rows that show it; None for a head without a role."""
    role = found.role(layer, head)
    if role is None:
        return None
    strongest, weakest = (
        [{"share": round(share, 4), "source": pairs[index][0], "target": pairs[index][1]} for index, share in some]
        for some in found.evidence(role.name, layer, head)
    )
    return {"strongest": strongest, "weakest": weakest}


def evidence_lines(found: Roles, pairs: Sequence[Pair], layer: int, head: int) -> list[str]:
    """`evidence` as text: the share and the sentence that the head reads; of decoder self-attention, the target."""
    names = {"strongest": _("strongest"), "weakest": _("weakest")}
    side = "target" if found.kind == "decoder_self" else "source"
    width = max(map(columns, names.values()))
    return [
        f"{'':{COLUMNS[0][1]}}  {pad('' if row else names[name], width)}  {100 * one['share']:3.0f}%  {one[side]}"
        for name, some in (evidence(found, pairs, layer, head) or {}).items()
        for row, one in enumerate(some)
    ]


def table(found: Roles, statistics: HeadStatistics, pairs: Sequence[Pair] = ()) -> str:
    """A line for each head, as the page Head roles has them. Then the baselines. pairs: with them, the sentences with
    the evidence follow each head with a role."""
    layers, heads = statistics.entropy.shape
    first, *others = (pad(translate(name), wide, right=True) for name, wide in COLUMNS)
    lines = [
        _(
            "{title}: {rows:,} rows, mean entropy {entropy:.2f}",
            title=translate(TITLES[statistics.kind]),
            rows=statistics.rows,
            entropy=statistics.entropy.mean(),
        ),
        f"{first}  {pad(_('role'), ROLE)}{''.join(others)}",
        *(
            text
            for layer in range(layers)
            for head in range(heads)
            for text in (line(found, layer, head), *(evidence_lines(found, pairs, layer, head) if pairs else ()))
        ),
    ]
    baselines = ", ".join(
        f"{translate(NAMES[role])} {100 * share:.0f}%"
        for role, share in zip(found.names, found.baselines.tolist(), strict=True)
    )
    lines.append("  " + _("baselines: {baselines}", baselines=baselines))
    if statistics.kind != "cross":
        positional = statistics.positional(POSITIONAL)
        sentence = _(
            "{count} of {heads} heads attend to the same offset in 90% or more of the rows",
            count=positional,
            heads=layers * heads,
        )
        lines.append(f"  {sentence}")
    elif statistics.links:
        predicted, fed = (int((getattr(statistics, name) >= ALIGNED).sum()) for name in READINGS)
        sentence = _(
            "{count} of {heads} heads align 75% or more of the list's {links:,} links: {predicted} by the token "
            "predicted, {fed} by the token fed in",
            count=int((statistics.aligned() >= ALIGNED).sum()),
            heads=layers * heads,
            links=statistics.links,
            predicted=predicted,
            fed=fed,
        )
        lines.append(f"  {sentence}")
    return "\n".join(lines)


def over_corpus(
    model: Pretrained, corpus: Corpus, words: WordList | None, options: argparse.Namespace, complain: Broken
) -> tuple[dict[str, HeadStatistics], dict[str, Roles], Sequence[Pair], int]:
    """As `transformer.corpus.heads.total`. Raises CorpusError."""
    listed = words and sorted((source, sorted(targets)) for source, targets in words.items())
    digest = None if words is None else hashlib.sha256(repr(listed).encode()).hexdigest()
    task = job("heads", [(options.checkpoint, model)], options.device, words=digest)
    return total(values_over(task, corpus, chunks_with_words(model, corpus, words, complain), options), corpus)


def run(options: argparse.Namespace) -> int:
    model = load(options.checkpoint, common.find_device(options.device))
    words: WordList | None = None
    if options.words:
        try:
            words = read_word_list(read_text(options.words, LARGEST_WORDS))
        except ValueError as error:
            raise common.CommandError(
                "{words_file}: {error}; write each line as SOURCE WORD<tab>TARGET WORDS",
                words_file=options.words,
                error=error,
            ) from error
    corpus, complain = corpus_of(options.data, options), Broken()
    if corpus is not None:
        by_kind, does, pairs, count = over_corpus(model, corpus, words, options, complain)
    else:
        pairs = common.sentence_pairs(model, options.data)
        if not options.data and words is None:
            words = word_list(model, pairs)
        try:
            sentences = sentences_of(model, pairs)
        except InputError as error:
            raise common.CommandError("{error}", error=error) from error
        by_kind, does, count = statistics(sentences, words), roles(sentences, words), len(pairs)
    shown = pairs if options.evidence else ()
    print("\n\n".join([translate(LEGEND), *(table(does[kind], by_kind[kind], shown) for kind in by_kind)]))
    if options.json:
        kinds = {}
        for kind, found in does.items():
            layers, heads = found.confidence.shape
            of_heads = [[evidence(found, pairs, layer, head) for head in range(heads)] for layer in range(layers)]
            kinds[kind] = to_dict(by_kind[kind]) | roles_to_dict(found) | {"evidence": of_heads}
        about = {"checkpoint": model.name, "pairs": count, **kinds}
        common.write_json(options, json.dumps(about))
    return complain.status
