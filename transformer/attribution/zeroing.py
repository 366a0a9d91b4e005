"""Value zeroing (Mohebbi et al. 2023, "Quantifying Context Mixing in Transformers")."""

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.attribution.contributions import Contributions, in_shares, through_layers
from transformer.cancellation import Progress, tell
from transformer.inference.pretrained import Pretrained
from transformer.interventions.edits import joined
from transformer.model.tap import Edit, EditingTap
from transformer.tracing.rerun import bias_of, masks_of
from transformer.tracing.trace import Trace

ROUNDING = 1e-5  # relative, of one layer's output in float32


def _zeroed(values: Tensor) -> Tensor:
    """values: [batch, head, key, d_head], batch = key: in row j of the batch, token j's values are 0 in every head."""
    keep = ~torch.eye(len(values), dtype=torch.bool, device=values.device)
    return values * keep[:, None, :, None]


def _moved(outputs: Tensor, plain: Tensor) -> Tensor:
    """1 - cos(x~_i, x~_i with token j zeroed); 0 if they differ by rounding alone. outputs: [key, query, d_model];
    plain: [query, d_model]. Returns [query, key]."""
    outputs, plain = outputs.double(), plain.double().expand_as(outputs)
    turned = 1 - F.cosine_similarity(outputs, plain, dim=-1)
    change, size = (outputs - plain).norm(dim=-1), outputs.norm(dim=-1) + plain.norm(dim=-1)
    return torch.where(change > ROUNDING * size, turned.clamp(min=0), 0.0).T


@torch.inference_mode()
def value_zeroing(model: Pretrained, trace: Trace, progress: Progress = lambda done, total: True) -> Contributions:
    """For each layer, how far a token's output turns if another token's values are 0 in all heads, as shares of a row;
    then carried through the layers (`through_layers`).

    A decoder layer has two such attentions; the shares of a row are over the tokens of both. A token that no value
    turns stays its own. progress: called with (layers done, all) after each; False stops (Stopped).
    """
    return Contributions(*through_layers(*zeroed_layers(model, trace, progress)), shares=True)


@torch.inference_mode()
def zeroed_layers(
    model: Pretrained, trace: Trace, progress: Progress = lambda done, total: True
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """The shares within every layer, as `through_layers` takes them: of the encoder, [source, source]; of the decoder's
    self-attention, [target, target], and of cross-attention, [target, source]. progress: as above."""
    network = model.model
    switches = model.edits(trace.interventions)

    def tap(extra: dict[str, Edit]) -> EditingTap:
        return EditingTap(joined(extra, switches))

    def report(done: int) -> None:
        tell(progress, done, len(network.encoder) + len(network.decoder))

    source_mask, target_mask = masks_of(network, trace)
    encoder = []
    count, steps = len(trace.source_ids), len(trace.target_in_ids)
    bias = bias_of(network.encoder_bias, count)
    for index, layer in enumerate(network.encoder):
        x = trace.encoder_self.enters[index].to(network.device).expand(count, -1, -1)
        here = tap({f"encoder.{index}.self.values": _zeroed}).at("encoder").at(str(index))
        outputs = layer(x, source_mask, here, bias).cpu()
        moved = _moved(outputs, trace.encoder_ff.leaves[index])
        encoder.append(in_shares(moved, torch.arange(count)))
        report(index + 1)
    decoder, cross, bias = [], [], bias_of(network.decoder_bias, steps)
    for index, decoder_layer in enumerate(network.decoder):
        both = []
        for name, keys in (("self", steps), ("cross", count)):
            x = trace.decoder_self.enters[index].to(network.device).expand(keys, -1, -1)
            memory = trace.encoder_output.to(network.device).expand(keys, -1, -1)
            here = tap({f"decoder.{index}.{name}.values": _zeroed}).at("decoder").at(str(index))
            outputs = decoder_layer(x, memory, target_mask, source_mask, here, None, bias).cpu()
            both.append(_moved(outputs, trace.decoder_ff.leaves[index]))
        shares = in_shares(torch.cat(both, 1), torch.arange(steps))
        decoder.append(shares[:, :steps])
        cross.append(shares[:, steps:])
        report(len(encoder) + index + 1)
    return encoder, decoder, cross
