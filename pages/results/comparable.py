"""Why this model's BLEU and the paper's cannot be compared, shown on this model's own test results."""

from collections.abc import Mapping
from typing import Any

from pages.components import figure
from pages.components.sentences import paragraph, point
from pages.frame.frame import PageFrame
from transformer.figures.results import subset_bars
from transformer.texts import _


def names() -> dict[str, str]:
    """Subset in metrics.json -> label; the first is all of the test set."""
    return {
        "all": _("everything"),
        "one_reference": _("only one reference each"),
        "short": _("sources of at most 6 words"),
        "middle": _("7 to 10 words"),
        "long": _("more than 10 words"),
    }


def subsets_of(metrics: Mapping[str, Any]) -> dict[str, Mapping[str, float]]:
    """The subsets that a checkpoint recorded; empty if it has none, or something else."""
    found = metrics.get("subsets")
    if not isinstance(found, Mapping) or "all" not in found:
        return {}
    fields = ("bleu", "sentences", "words")
    return {
        name: found[name]
        for name in names()
        if isinstance(found.get(name), Mapping)
        and all(isinstance(found[name].get(field), int | float) for field in fields)
    }


def draw(frame: PageFrame) -> None:
    model = frame.model
    found = subsets_of(model.metrics)
    if not found:
        point(_("This checkpoint has no recorded scores of parts of a test set."))
        text = _(
            "python -m transformer evaluate --json metrics.json writes them; put the file into the checkpoint's folder."
        )
        paragraph(text)
        return
    whole, one = found["all"], found.get("one_reference", found["all"])
    lengths = [found[name] for name in ("short", "long") if name in found]
    text = _(
        "A BLEU score can only be compared with others on the same test set, with the same references: these {count} "
        "translations get {all}, with one reference each {one}; the short sentences get {short}, the long ones {long}."
    )
    ends = [f"{lengths[index]['bleu']:.1f}" if lengths else "–" for index in (0, -1)]
    point(
        text.format(
            count=f"{int(whole['sentences']):,}", all=f"{whole['bleu']:.1f}", one=f"{one['bleu']:.1f}",
            short=ends[0], long=ends[1],
        )
    )  # fmt: skip
    labels = names()
    drawn = figure.built(
        subset_bars,
        [labels[name] for name in found],
        [float(part["bleu"]) for part in found.values()],
        [int(part["sentences"]) for part in found.values()],
    )
    figure.draw(drawn, "results-subsets", "bleu-subsets", first=True)
    paragraph(
        _(
            "The paper's 28.4 (Table 2) is on newstest2014, another test set: one reference for each sentence, and "
            "long sentences from the news. Here a source has {words} words on average, most are everyday sentences, "
            "and some have several references."
        ).format(words=f"{whole['words']:.1f}")
    )
