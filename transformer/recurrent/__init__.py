"""What attention was before: a recurrent encoder-decoder with additive attention (Bahdanau et al. 2015).

from transformer import recurrent
model = recurrent.load("reverse-recurrent")   # a bundled name, or a path
model.translate("headscope").text
trace = model.trace("headscope")
trace.weights                                 # alpha, [target, source]
"""

from transformer.recurrent.config import RecurrentConfig
from transformer.recurrent.model import RecurrentModel
from transformer.recurrent.pretrained import Recurrent, load, save
from transformer.recurrent.trace import RecurrentTrace

__all__ = ["Recurrent", "RecurrentConfig", "RecurrentModel", "RecurrentTrace", "load", "save"]
