"""Whether exported graphs compute what their model computes: both run, and their numbers are compared."""

import contextlib
import functools
import itertools
import json
import operator
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from transformer.cancellation import Progress, tell
from transformer.checkpoints.folder import EXAMPLES, GRAPHS, LARGEST_BESIDE
from transformer.inference.pretrained import InputError, Pretrained
from transformer.inference.search import output_limit
from transformer.interventions.replace import RULES
from transformer.interventions.sets import NONE, InterventionError, Interventions
from transformer.model.tap import KINDS
from transformer.texts import UserError
from transformer.tracing.trace import AttentionTrace, Trace
from transformer.web.graphs import Inputs, plain
from transformer.web.switches import graph_inputs

SENTENCES = 20
TOLERANCE = 1e-5
ROUNDING = 10
# One pass for each input of the graphs that is a switch.
SWITCHES = (
    "scaling=off", "bias=off", "causal=off", "pad=3", "pad=3 padding=off", "hide=source.1 hide=target.2",
    "zero=all.1.1", "mean=all.1.1", "weights=uniform", "weights=argmax@all.1.1", "positions=remove",
    "positions=reverse", "positions=shift.1", "positions=scale.0.5", "skip=encoder.1.self", "skip=encoder.1.ff",
    "skip=decoder.1.self", "skip=decoder.1.cross", "skip=decoder.1.ff", "neurons=encoder.1.1", "neurons=decoder.1.1",
)  # fmt: skip


class ExportError(UserError):
    """A model that cannot be exported. The message says why."""


class Graphs:
    """The graphs in a folder, run by onnxruntime with one thread."""

    def __init__(self, model: Pretrained, folder: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.model, self.config = model, model.config
        self._sessions = {
            Path(name).stem: onnxruntime.InferenceSession(folder / name, options, ["CPUExecutionProvider"])
            for name in GRAPHS
        }

    @functools.cached_property
    def exact(self) -> Pretrained:
        """The model with 64 bits."""
        return replace(self.model, model=plain(self.model.model).double())

    def _run(self, graph: str, inputs: Inputs, names: Sequence[str] | None = None) -> Inputs:
        """The outputs with these names, or all."""
        session = self._sessions[graph]
        names = names or [output.name for output in session.get_outputs()]
        given = {name: tensor.numpy() for name, tensor in inputs.items()}
        return dict(zip(names, map(torch.as_tensor, session.run(names, given)), strict=True))

    def encode(self, source: Sequence[int], switches: Interventions = NONE) -> Inputs:
        """The outputs of the encoder. source: ids, padding included."""
        inputs = graph_inputs(switches, self.config, "encoder", {"source": len(source)})
        return self._run("encoder", inputs | {"source": torch.tensor([source])})

    def decode(
        self, source: Sequence[int], encoded: Inputs, fed: Sequence[int], switches: Interventions = NONE,
        past: Inputs | None = None, names: Sequence[str] | None = None,
    ) -> Inputs:  # fmt: skip
        """The outputs of the decoder. encoded: those of the encoder; fed: ids after those of the past; past: the
        outputs of the pass before."""
        config = self.config
        widths = {"keys": config.d_k or config.d_head, "values": config.d_head}
        held = {
            name: torch.zeros(config.decoder_layers, config.heads, 0, width)
            if past is None
            else past[f"decoder_self.{name}"]
            for name, width in widths.items()
        }
        before = held["keys"].shape[2]
        inputs = graph_inputs(switches, config, "decoder", {"source": len(source), "target": before + len(fed)}, before)
        inputs |= {"source": torch.tensor([source]), "target": torch.tensor([fed])}
        inputs |= {f"past.{name}": tensor for name, tensor in held.items()}
        inputs |= {name: encoded[name] for name in ("cross.keys", "cross.values")}
        return self._run("decoder", inputs, names)

    def project(self, decoded: Inputs) -> Inputs:
        """Logits, and the next token. decoded: outputs of the decoder."""
        return self._run("output", {"decoder_output": decoded["decoder_output"]})

    def write(self, source: Sequence[int], switches: Interventions = NONE) -> list[int]:
        """Greedy search, with the key-value cache where the model and the switches allow one. Returns ids."""
        most = output_limit(self.model.model, len(source) - switches.pads, self.model.output_limit(switches))
        cached = self.config.causal and not switches.replays
        encoded, ids = self.encode(source, switches), list[int]()
        found: Inputs | None = None
        while len(ids) < most and ids[-1:] != [self.config.end_id]:
            fed = [self.config.start_id, *ids]
            past, fed = (found, fed[-1:]) if cached else (None, fed)
            names = ("decoder_output", "decoder_self.keys", "decoder_self.values")
            found = self.decode(source, encoded, fed, switches, past, names)
            last = self.model.rule.constraints.last if len(ids) == most - 1 else None
            ids.append(int(self.project(found)["next"]) if last is None else last)
        return ids

    def trace(self, source: Sequence[int], fed: Sequence[int], switches: Interventions = NONE) -> Inputs:
        """Every tensor of a teacher-forced pass, by the names of a Trace."""
        encoded = self.encode(source, switches)
        decoded = self.decode(source, encoded, fed, switches)
        return {**encoded, **decoded, "logits": self.project(decoded)["logits"]}


def check_graphs(model: Pretrained, folder: Path, progress: Progress = lambda done, total: True) -> None:
    """Compare the graphs in a folder with the model: tokens and all tensors of SENTENCES, then a pass for each of
    SWITCHES. progress: called with (passes done, all); False stops (Stopped). Raises ExportError."""
    with contextlib.ExitStack() as stack:
        stack.callback(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)  # the tensors are small: on a busy machine two threads took ten times as long
        _check(model, folder, progress)


def _check(model: Pretrained, folder: Path, progress: Progress) -> None:
    graphs, traces, total = Graphs(model, folder), list[Trace](), SENTENCES + len(SWITCHES)
    for number, text in enumerate(sentences(model), start=1):
        trace = model.trace(text)
        written = graphs.write(trace.source_ids)
        if written != list(trace.target_out_ids):
            raise ExportError(
                "nothing was exported: for “{text}” the graphs of {name} write “{written}”, and the model writes "
                "“{expected}”; this is a mistake of Headscope, please report it",
                text=text, name=model.name, written=model.tokenizer.decode(written), expected=trace.target_text,
            )  # fmt: skip
        compare(graphs, trace)
        traces.append(trace)
        tell(progress, number, total)
    for number, switches in enumerate(map(Interventions.parse, SWITCHES), start=SENTENCES + 1):
        for trace in itertools.islice(_with(model, traces, switches), 1):
            compare(graphs, trace)
        tell(progress, number, total)


def sentences(model: Pretrained) -> list[str]:
    """Texts that the model can read: its examples, the package's for its languages, then random tokens."""
    return list(dict.fromkeys(text for text in _texts(model) if _readable(model, text)))[:SENTENCES]


def _texts(model: Pretrained) -> Iterator[str]:
    with contextlib.suppress(OSError, ValueError, RecursionError, TypeError, KeyError):
        for entry in json.loads(model.beside(EXAMPLES, LARGEST_BESIDE[EXAMPLES]) or b"[]"):
            yield str(entry["source"])
    yield from (source for source, _ in model.reference_pairs())
    draw, tokenizer = random.Random(45), model.tokenizer_of("source")
    for _ in range(10 * SENTENCES):
        yield tokenizer.decode(draw.choices(range(len(tokenizer)), k=draw.randint(1, 9)))


def _readable(model: Pretrained, text: str) -> bool:
    try:
        model.encode(text)
    except InputError:
        return False
    return True


def _with(model: Pretrained, traces: Sequence[Trace], switches: Interventions) -> Iterator[Trace]:
    """The traces with switches, where the switches fit the sentence; without those where the best key of a head that
    gives it all the weight is decided by rounding."""
    for trace in traces:
        with contextlib.suppress(InputError, InterventionError):
            found = model.retrace(trace, switches)
            if all(_has_clear_best(found.attention(kind)) for kind in KINDS):
                yield found


def _has_clear_best(attention: AttentionTrace) -> bool:
    scores = attention.scores[attention.rule == RULES.index("argmax")]  # [head, query, key]
    best = scores.topk(min(2, scores.shape[-1])).values
    return scores.shape[-1] == 1 or bool((best[..., 0] - best[..., 1] > 1e-3).all())


def compare(graphs: Graphs, trace: Trace) -> None:
    """Raises ExportError unless every tensor of the graphs is that of the trace, within TOLERANCE times its largest
    number, if that is more than 1. Where rounding counts for more, as with large scores, or with switches, for which no
    model was trained: within ROUNDING times what the trace differs from a pass with 64 bits."""
    exact: Trace | None = None
    for name, tensor in graphs.trace(trace.source_ids, trace.target_in_ids, trace.interventions).items():
        field = operator.attrgetter(name)
        expected = field(trace)
        difference, allowed = _difference(tensor, expected), TOLERANCE * max(1.0, _largest(expected))
        if difference > allowed:
            exact = exact or graphs.exact.retrace(trace, trace.interventions)
            allowed = max(allowed, ROUNDING * _difference(field(exact), expected))
        if difference > allowed:
            raise ExportError(
                "nothing was exported: for “{text}” (switches: {switches}), {tensor} of the graphs of {name} differs "
                "by {difference:.1e}, and at most {allowed:.1e} is allowed; this is a mistake of Headscope, please "
                "report it",
                text=trace.source_text, switches=trace.interventions, tensor=name, name=trace.checkpoint,
                difference=difference, allowed=allowed,
            )  # fmt: skip


def _difference(first: Tensor, second: Tensor) -> float:
    """The largest difference; infinite where only one is a finite number."""
    first, second = first.double(), second.double()  # masks too
    same = (first == second) | (first.isnan() & second.isnan())
    return float(torch.where(same, 0.0, (first - second).abs()).nan_to_num(nan=torch.inf, posinf=torch.inf).max())


def _largest(tensor: Tensor) -> float:
    """The largest absolute value of the finite numbers."""
    return float(tensor.double().abs().nan_to_num(0.0, 0.0).max())
