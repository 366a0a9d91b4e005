"""What each source token and each token fed in contributed to each output token, by methods of the literature.

from transformer.attribution import METHODS, attribute
found = attribute(model, trace, "alti")     # a name of METHODS
found.source                                # [target, source]
found.prefix                                # [target, target]; column k: the token fed in at step k

Row t of both is the step that predicts trace.target_out[t].
"""

from transformer.attribution.agreement import kendall_tau
from transformer.attribution.contributions import Contributions
from transformer.attribution.faithfulness import Removal, removal_curve
from transformer.attribution.methods import METHODS, Method, attribute
from transformer.attribution.vectors import one_head

__all__ = ["METHODS", "Contributions", "Method", "Removal", "attribute", "kendall_tau", "one_head", "removal_curve"]
