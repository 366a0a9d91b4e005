"""Feed-forward sub-layers (section 3.3): which neurons are active, what each does, and translation without them."""

from pages.components import probing
from pages.components.comparison import waiting
from pages.feedforward import activity, knockouts, neurons, nonlinearity
from pages.frame import sentence
from pages.frame.frame import begin
from pages.frame.options import Options
from pages.runtime.texts import _

begun = begin(_("Feed-forward"), "feedforward")
probing.look()
options = Options(begun, "feedforward")
sentence.fields(begun)
part = options.parts(
    {
        "activity": _("Activity"),
        "neurons": _("Neurons"),
        "nonlinearity": _("Non-linearity"),
        "knock": _("Knock out"),
    }
)
trace = sentence.traced(begun, look=False)
later = None
if trace is not None:
    if part != "knock":
        waiting(begun.state.switches)
    if part == "activity":
        activity.draw(begun, options, trace)
    elif part == "neurons":
        later = neurons.draw(begun, options, trace)
    elif part == "nonlinearity":
        nonlinearity.draw(begun, options, trace)
    else:
        knockouts.draw(begun, options, trace)
options.finish()
if later is not None:
    later()  # over the probe set: the page stands already
