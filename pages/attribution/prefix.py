"""Source against prefix: at every step, how much of the output comes from the source sentence."""

from pages.attribution.heading import method_names, of_all_steps
from pages.components import figure
from pages.components.sentences import paragraph, point
from pages.frame.frame import PageFrame
from transformer.figures import attribution as figures
from transformer.texts import _
from transformer.tracing.trace import Trace

OPTIONS = ("by",)
WITH_SHARES = ("alti", "attention", "rollout", "norm", "zeroing")


def draw(frame: PageFrame, trace: Trace) -> None:
    names = method_names()
    by = str(frame.options.choice("by", WITH_SHARES, WITH_SHARES[0]))
    found = of_all_steps(frame.model, trace, by).source_share().tolist()
    labels = trace.target_out_labels
    low, high = min(range(len(found)), key=found.__getitem__), max(range(len(found)), key=found.__getitem__)
    sentence = _(
        "Does the decoder translate, or only continue its own text? {most}% of “{high}” comes from the source, "
        "but only {least}% of “{low}”."
    )
    point(
        sentence.format(
            high=labels[high], most=f"{100 * found[high]:.0f}", low=labels[low], least=f"{100 * found[low]:.0f}"
        )
    )
    figure.draw(
        figure.built(figures.source_share, [round(one, 5) for one in found], list(labels), names[by]),
        "source_share",
        "source-share",
        trace=trace,
        about=by,
        first=True,
    )
    frame.options.segment("by", _("Measured by"), WITH_SHARES, WITH_SHARES[0], names.__getitem__)
    paragraph(
        _("Source and prefix together are 100% at every step (Voita et al. 2021; with ALTI+, Ferrando et al. 2022)."),
        quiet=True,
    )
