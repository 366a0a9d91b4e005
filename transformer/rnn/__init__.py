"""Attention before the Transformer: a recurrent encoder-decoder with additive attention (Bahdanau et al. 2015).

from transformer import rnn
model = rnn.load("reverse-recurrent")   # a bundled name, or a path
model.translate("headscope").text
trace = model.trace("headscope")
trace.weights                                 # alpha, [target, source]
"""

from transformer.rnn.config import RecurrentConfig
from transformer.rnn.model import RecurrentModel
from transformer.rnn.pretrained import Recurrent, load
from transformer.rnn.trace import RecurrentTrace

__all__ = ["Recurrent", "RecurrentConfig", "RecurrentModel", "RecurrentTrace", "load"]
