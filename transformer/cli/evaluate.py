"""Score a checkpoint on sentence pairs: sacreBLEU, chrF and perplexity.

With --switch it scores a changed model. A source on several lines is translated once and scored against all its
references. A recipe gives the test data, its preparation and the decoding; for a toy task, the test inputs are drawn
from those that training never saw.
"""

import argparse
import json

import torch

from transformer.cli import common
from transformer.cli.corpus import Broken, add_corpus, corpus_of, values_over
from transformer.corpus.reading import Corpus, grouped
from transformer.corpus.tasks import job
from transformer.inference.pretrained import Pretrained, load
from transformer.interventions.sets import NONE, Interventions
from transformer.text.bleu_tokenizers import TOKENIZERS, USUAL, missing_tokenizer, tokenizer_for
from transformer.texts import N_, _, columns, pad
from transformer.tracing.finite import check_numbers
from transformer.training.data import Pair
from transformer.training.evaluation import Evaluation, total
from transformer.training.evaluation import evaluate as measure
from transformer.training.preparation import Preparation
from transformer.training.recipe import files_of, task_of
from transformer.training.tasks import TASKS, unseen_pairs

SUMMARY = N_("Score a checkpoint on sentence pairs: sacreBLEU, chrF and perplexity.")


def add(parser: argparse.ArgumentParser) -> None:
    common.add_checkpoint(parser)
    common.add_recipe(parser, _("recipe that trained the checkpoint"))
    parser.add_argument(
        "--lengths",
        type=common.whole(1, 10_000),
        nargs=2,
        metavar=("LOW", "HIGH"),
        help=_("input lengths of a toy task"),
    )
    common.add_search(parser)
    parser.add_argument(
        "--tokenize",
        choices=TOKENIZERS,
        help=_(
            "how BLEU divides texts into tokens, as in sacreBLEU (default: as the target language needs, else {usual})",
            usual=USUAL,
        ),
    )
    common.add_switches(parser)
    common.add_device(parser)
    add_corpus(parser, _("default: the test data of the recipe"))
    common.add_json(parser, _("also write the scores to this file"))


def table(scores: Evaluation, task: bool = False, interventions: Interventions = NONE) -> str:
    """The scores as lines of text. Leaves out BLEU and chrF for a toy task, whose words are single letters."""
    if scores.beams == 1:
        sentences = _("with {references:,} references; greedy", references=scores.references)
    else:
        sentences = _(
            "with {references:,} references; beam {beams}, length penalty {penalty:g}",
            references=scores.references,
            beams=scores.beams,
            penalty=scores.length_penalty,
        )
    speed = scores.sentences / max(scores.seconds, 1e-9)
    rows = [
        ("sacreBLEU", f"{scores.bleu:.2f}", scores.bleu_signature),
        ("chrF", f"{scores.chrf:.2f}", scores.chrf_signature),
        (_("exact"), f"{100 * scores.exact:.2f}%", _("of the sentences: equal to a reference, letter by letter")),
        (
            _("perplexity"),
            f"{scores.perplexity:.2f}",
            _("per target token, over {tokens:,}", tokens=scores.target_tokens),
        ),
        (_("sentences"), f"{scores.sentences:,}", sentences),
        (_("seconds"), f"{scores.seconds:.1f}", _("{speed:.1f} sentences/s", speed=speed)),
    ]
    if task:
        rows = [row for row in rows if row[0] not in ("sacreBLEU", "chrF")]
    if scores.tokenized_bleu is not None:
        rows.insert(1, (_("tokenised"), f"{scores.tokenized_bleu:.2f}", f"BLEU {scores.tokenized_bleu_signature}"))
    if interventions:
        rows.append((_("switches"), f"{len(interventions.switches)}", str(interventions)))
    if scores.untranslated:
        note = _("empty or too long, scored as empty translations")
        rows.append((_("untranslated"), f"{scores.untranslated:,}", note))
    if scores.unmeasured:
        note = _("pairs empty or too long, left out of the perplexity")
        rows.append((_("unmeasured"), f"{scores.unmeasured:,}", note))
    if not scores.four_grams and not task:
        note = _("no translation has four tokens, so BLEU is 0; read chrF, or choose --tokenize char")
        rows.append((_("4-grams"), "0", note))
    if scores.decomposed:
        note = _("references in decomposed Unicode (NFD), scored as NFC; sacreBLEU alone counts them as different")
        rows.append(("NFD", f"{scores.decomposed:,}", note))
    width = max(13, *(columns(name) + 1 for name, _value, _note in rows))
    return "\n".join(f"{pad(name, width)}{value:>9}  {note}" for name, value, note in rows)


def over_corpus(
    model: Pretrained,
    corpus: Corpus,
    search: tuple[int, float | None],
    preparation: tuple[str, tuple[str, str]] | None,
    tokenize: str,
    options: argparse.Namespace,
) -> tuple[Evaluation, int]:
    """The scores, and the exit status: 1 if a line is broken. Such lines are named on stderr."""
    complain = Broken()
    task = job(
        "evaluate", [(options.checkpoint, model)], options.device,
        beam=search[0], alpha=search[1], preparation=preparation, switches=options.switch, tokenize=tokenize,
    )  # fmt: skip
    return total(values_over(task, corpus, grouped(corpus.chunks(), complain), options)), complain.status


def run(options: argparse.Namespace) -> int:
    interventions = common.switches(options)
    recipe = common.recipe_of(options)
    data = recipe.get("data", {})
    prepared: tuple[str, tuple[str, str]] | None = None
    corpus: Corpus | None = None
    pairs: list[Pair] = []
    status = 0
    spec = task_of(recipe) if not options.data else None
    if spec:
        corpus_of(None, options)  # refuses the options of a corpus
        low, high = options.lengths or spec["lengths"]
        unit = TASKS[spec["name"]].unit
        pairs, names = unseen_pairs(spec, (low, high)), [f"{spec['name']}, {low} to {high} {unit}, unseen"]
    else:
        if options.lengths:
            raise common.CommandError(
                "--lengths needs the recipe of a toy task; leave it out, or name such a recipe with --recipe"
            )
        files = options.data or files_of(recipe, "test")
        if not files:
            raise common.CommandError("the test data is missing; give a file with --data, or a recipe with --recipe")
        corpus, names = corpus_of(files, options), [file.name for file in files]
        pairs = [] if corpus else common.read(files)
        if data.get("preparation", "none") != "none":
            codes = data.get("codes", ["en", "de"])
            prepared = (data["preparation"], (codes[0], codes[1]))
    model = load(options.checkpoint, common.find_device(options.device))
    interventions.check(model.config)
    decoding = common.search(options, recipe.get("decoding"))
    tokenize = options.tokenize or tokenizer_for(model.languages[1])
    if not (options.tokenize or spec) and (missing := missing_tokenizer(model.languages[1])):
        common.complain(missing)
    if corpus is not None:
        scores, status = over_corpus(model, corpus, decoding, prepared, tokenize, options)
    else:
        preparation = Preparation(*prepared) if prepared else None
        scores = measure(model, pairs, *decoding, preparation, interventions, tokenize)
    check_numbers(torch.tensor(scores.perplexity))
    print(table(scores, bool(spec), interventions))
    if options.json:
        about = {"checkpoint": model.name, "data": names, **scores.to_dict()}
        if interventions:
            about["switches"] = str(interventions)
        if spec:
            about = {name: value for name, value in about.items() if not name.startswith(("bleu", "chrf", "subsets"))}
        common.write_json(options, json.dumps(about, indent=2))
    return status
