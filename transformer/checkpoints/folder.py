"""A checkpoint is a directory with config.json, model.safetensors, tokenizer.model and further information.

    config.json          ModelConfig, and {"format": 1, "source": "English", "target": "German", ...} about the task
    model.safetensors    every parameter under its name in `Transformer`, float16, bfloat16 or float32
    tokenizer.model      SentencePiece
    metrics.json         scores, written by `python -m transformer evaluate`
    training.csv         the training log, one row per entry
    learning.npz         how its heads formed, written by `python -m transformer record`
    attributions.json    what an output token of each example rests on, by `transformer.attribution.one_token`
    examples.json        example sentences, and what to look for
    words.json           the words of a model with a closed vocabulary, see `transformer.text.words`
    README.md            the model card: data, licence, attribution, settings, scores; README.ko.md: in Korean
    recipe.toml          the recipe for `python -m transformer train --recipe`, if it was trained on the Training page
    encoder.onnx,
    decoder.onnx,
    web.json             the model for a browser, written by `headscope export-web`, see `transformer.web.folder`

Reading never runs code from a checkpoint: it holds only JSON, safetensors and a SentencePiece model.
"""

import contextlib
import dataclasses
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from reprlib import repr as shown
from typing import Any, Generic, Protocol, TypeVar

import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from transformer.checkpoints.beam_rule import ALPHA, PAPER, BeamRule
from transformer.checkpoints.languages import Codes
from transformer.checkpoints.weights import WeightsError, lies_in, mapped, read_header, read_tensor
from transformer.files import Files, Folder, Packed, reading_file, write_whole
from transformer.memory import free_bytes
from transformer.model.config import ConfigError, ModelConfig
from transformer.model.transformer import Transformer
from transformer.text.tokenizer import LARGEST_TOKENIZER, AnyTokenizer, Tokenizer, TokenizerError, clean
from transformer.texts import N_, Text, UserError, any_of

CONFIG, WEIGHTS, TOKENIZER, METRICS = "config.json", "model.safetensors", "tokenizer.model", "metrics.json"
RECORDING, LOG, EXAMPLES, CARD, RECIPE = "learning.npz", "training.csv", "examples.json", "README.md", "recipe.toml"
CARDS = {"en": CARD, "ko": "README.ko.md"}  # language -> the model card in it
WORDS = "words.json"  # of a closed vocabulary
HEADS = "heads.json"  # what each head does, as `python -m transformer heads --json` writes it
IMPORTANCE, ALIGNMENT = "importance.json", "alignment.json"  # of `importance --json`, and `align --score --json`
ATTRIBUTIONS = "attributions.json"  # what the examples rest on: `python -m transformer.attribution.one_token NAME`
GRAPHS, ABOUT = ("encoder.onnx", "decoder.onnx", "output.onnx"), "web.json"  # for browsers; the server reads none
NEEDED = (CONFIG, WEIGHTS, TOKENIZER)
FILES = (*NEEDED, METRICS, LOG, RECORDING, EXAMPLES, *CARDS.values(), RECIPE, WORDS, HEADS, IMPORTANCE,
         ALIGNMENT, ATTRIBUTIONS)  # fmt: skip
ARCHITECTURE = "headscope-transformer"
# Other architectures of this project: what they are, and how to open them.
OTHERS = {
    "headscope-recurrent": N_(
        "a recurrent encoder-decoder with additive attention, not a Transformer; open it with transformer.rnn.load"
    ),
}
# model_type of Hugging Face's models that `importers` opens -> their names
OPENED = {
    "marian": "Marian (OPUS-MT)", "bart": "BART", "mbart": "mBART", "m2m_100": "M2M-100 and NLLB", "pegasus": "Pegasus",
    "t5": "T5", "mt5": "mT5",
}  # fmt: skip
# Others that one may try: encoder-decoders, and models that have only one of the two.
OTHER_NAMES = {
    "umt5": "UMT5", "fsmt": "FSMT", "nllb-moe": "NLLB-MoE", "pegasus_x": "Pegasus-X",
    "bigbird_pegasus": "BigBird-Pegasus", "led": "LED", "prophetnet": "ProphetNet", "blenderbot": "Blenderbot",
}  # fmt: skip
ENCODERS = {
    "bert": "BERT", "roberta": "RoBERTa", "xlm-roberta": "XLM-RoBERTa", "distilbert": "DistilBERT", "albert": "ALBERT",
    "electra": "ELECTRA", "deberta": "DeBERTa", "deberta-v2": "DeBERTa", "modernbert": "ModernBERT",
}  # fmt: skip
DECODERS = {
    "gpt2": "GPT-2", "llama": "Llama", "mistral": "Mistral", "mixtral": "Mixtral", "gemma": "Gemma", "gemma2": "Gemma",
    "gemma3_text": "Gemma", "qwen2": "Qwen", "qwen3": "Qwen", "phi": "Phi", "phi3": "Phi", "opt": "OPT",
    "bloom": "BLOOM", "gpt_neo": "GPT-Neo", "gpt_neox": "GPT-NeoX", "gptj": "GPT-J", "falcon": "Falcon",
}  # fmt: skip
FORMAT = 1
DTYPES = {torch.float32, torch.float16, torch.bfloat16}
LARGEST_JSON = 1_000_000
# Most bytes that are read of the files beside the weights; those of the bundled models take 5,000.
LARGEST_BESIDE = {
    METRICS: LARGEST_JSON, LOG: 100_000, EXAMPLES: LARGEST_JSON, **dict.fromkeys(CARDS.values(), 100_000),
    RECIPE: 100_000, WORDS: LARGEST_JSON, HEADS: LARGEST_JSON, IMPORTANCE: LARGEST_JSON, ALIGNMENT: LARGEST_JSON,
    ATTRIBUTIONS: LARGEST_JSON,
}  # fmt: skip
LARGEST_MODEL = 1_000_000_000  # parameters; in float32 4 GB
TOKENS = 128  # per side, the default of the app
LARGEST_TRACE = 2**30  # bytes of a trace with TOKENS tokens; 56 MB for the bundled en-de


Model = TypeVar("Model", bound=nn.Module)


class SavedModel(Protocol):
    """The part of a model that `save_checkpoint` needs."""

    @property
    def config(self) -> Any: ...

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...


class CheckpointError(UserError):
    """A folder that is not a valid checkpoint. The message names the file and the problem."""


@dataclass(frozen=True)
class Checkpoint(Generic[Model]):
    """The contents of a checkpoint directory. model: float32, eval mode, no gradients; shared by all viewers.

    source_tokenizer: only if the source has a different tokenizer; rule, alpha: of beam search; notes: sentences on
    what another project's folder has that is done in another way here; family: of that project's models, "" for ours;
    codes: of a model for many languages.
    """

    name: str
    path: Path
    model: Model
    tokenizer: AnyTokenizer
    languages: tuple[str, str] = ("source", "target")
    metrics: Mapping[str, Any] = field(default_factory=dict)
    source_tokenizer: AnyTokenizer | None = None
    rule: BeamRule = PAPER
    alpha: float = ALPHA
    notes: tuple[Text, ...] = ()
    family: str = ""
    codes: Codes | None = None


def read_json(path: Path, largest: int = LARGEST_JSON) -> Any:
    """The value in a JSON file of at most `largest` bytes. Raises CheckpointError."""
    return _read_json(Folder(path.parent), path.name, largest)


def _read_json(files: Files, name: str, largest: int = LARGEST_JSON) -> Any:
    with reading_file(name, CheckpointError):
        if (size := files.size(name)) > largest:
            raise CheckpointError(
                "{name} has {size:,} bytes; the limit is {largest:,}", name=name, size=size, largest=largest
            )
        data = files.read(name, largest)
    try:
        text = data.decode("utf-8")
        value = json.loads(text)
        if "\\u" in text:  # half of a surrogate pair, "\ud800", is valid JSON, but cannot be sent to a browser
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        return value
    except (ValueError, RecursionError) as error:
        raise CheckpointError(
            "{name} is not JSON in UTF-8; the file is damaged, or it is another kind of file", name=name
        ) from error


class _Unfilled(TorchFunctionMode):
    """Skips the random numbers of `nn.init`. Memory that nothing is written to takes no room."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(function, "__name__", "") in ("normal_", "uniform_", "kaiming_uniform_"):
            return args[0] if args else kwargs["tensor"]
        return function(*args, **kwargs)


@contextlib.contextmanager
def shapes_only() -> Iterator[None]:
    """Models built in this context have names and shapes, but no numbers.

    For random numbers and arithmetic on `meta`, torch imports its compiler. That costs 1.7 s and 70 MB, and needs a
    folder for temporary files, which a server with a full disk does not have. So both are avoided.
    """
    with torch.device("meta"), _Unfilled():
        yield


def parameter_shapes(build: Callable[[Any], nn.Module], config: Any) -> dict[str, tuple[int, ...]]:
    """Name -> shape of the parameters of the model that `build` makes from a configuration, without making it."""
    if isinstance(config, ModelConfig) and config.positions == "sinusoidal":
        config = dataclasses.replace(config, positions="none")  # neither has parameters, and sines need arithmetic
    with shapes_only():
        return {name: tuple(parameter.shape) for name, parameter in build(config).named_parameters()}


def check_size(name: str, shapes: Mapping[str, tuple[int, ...]], mapped: Collection[str] = ()) -> None:
    """Raises CheckpointError if parameters of these shapes are too many, or do not fit into the memory that is free.
    name: of the file that has them; mapped: parameters that stay in their file (`weights.lies_in`), which the system
    may drop from memory and read again."""
    sizes = {parameter: math.prod(shape) for parameter, shape in shapes.items()}
    if (count := sum(sizes.values())) > LARGEST_MODEL:
        raise CheckpointError(
            "{name} has {count:,} parameters; the limit is {largest:,}", name=name, count=count, largest=LARGEST_MODEL
        )
    copied = [size for parameter, size in sizes.items() if parameter not in mapped]
    free, needed = free_bytes(), 4 * (sum(copied) + max(copied, default=0))  # float32; one is there twice meanwhile
    if free is not None and needed > free:
        raise CheckpointError(
            "{name} takes {needed:.1f} GB in memory, and {free:.1f} GB are free; close other programs, or open it on a "
            "machine with more memory",
            name=name, needed=needed / 1e9, free=free / 1e9,
        )  # fmt: skip


def finite(tensor: Tensor) -> bool:
    """Whether all numbers are finite. Their sum tells, unless it is too large for its type; asking each takes ten times
    as long, and twice the memory of what it is asked of, so in parts."""
    return bool(tensor.sum().isfinite()) or all(bool(part.isfinite().all()) for part in tensor.flatten().split(2**22))


@contextlib.contextmanager
def reading_tensors(name: str) -> Iterator[None]:
    """A file of this name that cannot be read, or is no safetensors file, is a CheckpointError in this block."""
    try:
        with reading_file(name, CheckpointError):
            yield
    except WeightsError as error:
        raise CheckpointError("{name} is not a complete safetensors file; copy it again", name=name) from error


def _read_weights(files: Files, wanted: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """The tensors of a safetensors file in float32, checked by name, shape and value. wanted: name -> shape."""
    with reading_tensors(WEIGHTS), files.open(WEIGHTS) as file:
        entries = read_header(file)
        if missing := sorted(set(wanted) - set(entries)):
            raise CheckpointError(
                "{weights} has no tensor {missing}, but config.json needs it; take both files from the same checkpoint",
                weights=WEIGHTS,
                missing=missing[0],
            )
        if extra := sorted(set(entries) - set(wanted)):
            raise CheckpointError(
                "{weights} has a tensor {extra} that does not belong to the model in config.json; take both files "
                "from the same checkpoint",
                weights=WEIGHTS,
                extra=shown(extra[0]),
            )
        for name, shape in wanted.items():
            entry = entries[name]
            if entry.shape != shape:
                raise CheckpointError(
                    "{weights}: {name} has shape {actual}; config.json needs {needed}, so take both files from "
                    "the same checkpoint",
                    weights=WEIGHTS,
                    name=name,
                    actual=shown(list(entry.shape)),
                    needed=list(shape),
                )
            if entry.dtype not in DTYPES:
                raise CheckpointError(
                    "{weights}: {name} has type {dtype}; it must be float16, bfloat16 or float32",
                    weights=WEIGHTS,
                    name=name,
                    dtype=entry.dtype,
                )
        tensors, memory = {}, mapped(file)
        check_size(WEIGHTS, wanted, [name for name in wanted if lies_in(entries[name], memory)])
        for name in wanted:
            tensor = read_tensor(file, entries[name], memory).float()
            if not finite(tensor):
                raise CheckpointError(
                    "{weights}: {name} has values that are not finite numbers; copy the file again, or save the "
                    "model at a step before its training diverged",
                    weights=WEIGHTS,
                    name=name,
                )
            tensors[name] = tensor
        return tensors


def trace_bytes(config: ModelConfig, tokens: int = TOKENS) -> int:
    """Approximate size of a trace with this many tokens per side, in bytes: float32, masks with one byte per cell.

    The number of parameters does not limit it: 64 layers of 128 heads of width 1 take 25 MB, but their traces 5 GB.
    """
    numbers = 4 if config.positions == "relative" else 2  # scores, weights, then products, bias
    cells = config.heads * tokens**2 * (4 * numbers + 1)  # and a mask
    states = 4 * tokens * config.d_model  # each sub-layer has four of them: enters, update, sum, leaves
    vectors = 4 * tokens * config.heads * 2 * ((config.d_k or config.d_head) + config.d_head)
    attentions = config.encoder_layers + 2 * config.decoder_layers
    layers = config.encoder_layers + config.decoder_layers
    inner = layers * (4 * tokens * (3 if config.gated else 2) * config.d_ff + 4 * states)
    vocabulary = config.output_size
    return attentions * (cells + vectors + 4 * states) + inner + 4 * tokens * vocabulary


def bounded(config: ModelConfig) -> ModelConfig:
    """The same configuration, if its traces fit into memory. Raises ConfigError."""
    if (size := trace_bytes(config)) > LARGEST_TRACE:
        raise ConfigError(
            "a trace of {encoder_layers} + {decoder_layers} layers with {heads} heads and {d_ff:,} "
            "neurons takes {size:,.1f} GB; the limit is {largest:.1f} GB",
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            heads=config.heads,
            d_ff=config.d_ff,
            size=size / 1e9,
            largest=LARGEST_TRACE / 1e9,
        )
    return config


def _configure(values: dict[str, Any]) -> ModelConfig:
    return bounded(ModelConfig.from_dict(values))


def load_checkpoint(path: Path) -> Checkpoint[Transformer]:
    """Read a checkpoint directory. Raises CheckpointError for the first problem."""
    return read_checkpoint(path, ARCHITECTURE, _configure, Transformer)


def open_checkpoint(files: Mapping[str, bytes], name: str) -> Checkpoint[Transformer]:
    """Like `load_checkpoint`, for files in memory, by name. Raises CheckpointError."""
    return _read(Packed(name, files), ARCHITECTURE, _configure, Transformer)


def read_checkpoint(
    path: Path, architecture: str, configure: Callable[[dict[str, Any]], Any], build: Callable[[Any], Model]
) -> Checkpoint[Model]:
    """Read a directory with a model of this architecture, which config.json names.

    configure: the table "model" of config.json -> a configuration, or ConfigError; build: a configuration -> the model.
    """
    path = Path(path)
    with reading_file(path, CheckpointError):  # a folder without permission, or a name too long for the system
        if not path.is_dir():
            raise CheckpointError("there is no checkpoint folder {path}", path=path)
        return _read(Folder(path), architecture, configure, build)


def _tokenizer(files: Files) -> Tokenizer:
    if files.size(TOKENIZER) > LARGEST_TOKENIZER:
        raise CheckpointError(
            "{tokenizer} is larger than {largest:,} bytes",
            tokenizer=TOKENIZER,
            largest=LARGEST_TOKENIZER,
        )
    with reading_file(TOKENIZER, TokenizerError):
        return Tokenizer(files.read(TOKENIZER, LARGEST_TOKENIZER))


def _read(
    files: Files, architecture: str, configure: Callable[[dict[str, Any]], Any], build: Callable[[Any], Model]
) -> Checkpoint[Model]:
    path = files.path
    if files.has(CONFIG):
        _refuse_others(_read_json(files, CONFIG), path)
    for name in NEEDED:
        if not files.has(name):
            raise CheckpointError("{path} is not a checkpoint: {name} is missing", path=path, name=name)
    about = _read_json(files, CONFIG)
    if not isinstance(about, dict) or about.get("architecture") != architecture:
        arrived = str(about.get("architecture", about.get("model_type")) if isinstance(about, dict) else None)
        if arrived in OTHERS:
            raise CheckpointError("{path} holds {architecture}", path=path, architecture=Text(OTHERS[arrived]))
        raise CheckpointError(
            "{path} holds a model of another architecture, {arrived!r}; only {architecture!r} can be opened",
            path=path,
            arrived=arrived[:60],
            architecture=architecture,
        )
    if about.get("format") != FORMAT:
        raise CheckpointError(
            "{path} has format {arrived}; this version reads format {format}",
            path=path,
            arrived=shown(about.get("format")),
            format=FORMAT,
        )
    try:
        config = configure(about.get("model", {}))
        tokenizer = _tokenizer(files)
        weights = _read_weights(files, parameter_shapes(build, config))
    except (ConfigError, TokenizerError) as error:
        raise CheckpointError("{path}: {error}", path=path, error=error) from error
    for size in (config.vocab_size, getattr(config, "target_vocab_size", None) or config.vocab_size):
        if len(tokenizer) != size:
            raise CheckpointError(
                "{path}: tokenizer and model do not match, {pieces:,} pieces against {size:,}",
                path=path,
                pieces=len(tokenizer),
                size=size,
            )
    specials = (config.pad_id, config.unk_id, config.start_id, config.end_id)
    if specials != (0, 1, 2, 3):  # the ids in `Tokenizer`
        raise CheckpointError(
            "{path}: the special ids are {specials} in config.json, but 0 to 3 in the tokenizer",
            path=path,
            specials=shown(specials),
        )
    with _Unfilled():
        model = build(config)
    model.load_state_dict(weights, assign=True)
    model.requires_grad_(False).eval()
    metrics = _read_json(files, METRICS) if files.has(METRICS) else {}
    metrics = {name: value for name, value in metrics.items() if _shows(value)} if isinstance(metrics, dict) else {}
    languages = (language(about.get("source"), "source"), language(about.get("target"), "target"))
    return Checkpoint(path.name, path, model, tokenizer, languages, metrics)


def _refuse_others(about: Any, path: Path) -> None:
    """Raises CheckpointError for the config.json of another kind of model of Hugging Face."""
    kind = about.get("model_type") if isinstance(about, dict) and "architecture" not in about else None
    if isinstance(kind, str) and kind not in OPENED:
        sentence = N_("{path} holds a {name} model; of Hugging Face's models, Headscope opens {opened}")
        if kind in DECODERS:
            sentence = N_("{path} holds a {name} model, which has only a decoder; Headscope opens {opened}")
        if kind in ENCODERS:
            sentence = N_("{path} holds a {name} model, which has only an encoder; Headscope opens {opened}")
        name = clean({**OTHER_NAMES, **ENCODERS, **DECODERS}.get(kind, kind)[:60])
        raise CheckpointError(sentence, path=path, name=name, opened=any_of(OPENED.values()))


def _shows(score: Any) -> bool:
    """Whether a score can be shown; JSON may also hold NaN, and whole numbers of thousands of digits."""
    return not isinstance(score, int | float) or -1e15 < score < 1e15


def language(value: Any, side: str) -> str:
    """The name of a language in config.json, cleaned and shortened, or else the name of the side."""
    return (clean(value[:200])[:40] if isinstance(value, str) else "") or side


def checkpoint_files(
    model: SavedModel,
    tokenizer: Tokenizer,
    languages: tuple[str, str] = ("source", "target"),
    dtype: torch.dtype = torch.float16,
    architecture: str = ARCHITECTURE,
) -> dict[str, bytes]:
    """Name -> bytes of config, weights and tokenizer, in the order of writing."""
    weights = save({name: parameter.detach().to(dtype).contiguous() for name, parameter in model.named_parameters()})
    about = {
        "architecture": architecture,
        "format": FORMAT,
        "source": languages[0],
        "target": languages[1],
        "model": model.config.to_dict(),
    }
    config = (json.dumps(about, indent=2) + "\n").encode()
    return {CONFIG: config, TOKENIZER: tokenizer.to_bytes(), WEIGHTS: weights}


def save_checkpoint(
    path: Path,
    model: SavedModel,
    tokenizer: Tokenizer,
    languages: tuple[str, str] = ("source", "target"),
    dtype: torch.dtype = torch.float16,
    architecture: str = ARCHITECTURE,
) -> None:
    """Write config, weights and tokenizer. The caller writes scores, log and model card.

    If the folder holds other weights, they and their measurements are deleted first. So a full disk never leaves a
    tokenizer beside the weights of another model.
    """
    path.mkdir(parents=True, exist_ok=True)
    files = checkpoint_files(model, tokenizer, languages, dtype, architecture)
    if (path / WEIGHTS).is_file() and (path / WEIGHTS).read_bytes() != files[WEIGHTS]:
        for old in (WEIGHTS, METRICS, RECORDING, HEADS, IMPORTANCE, ALIGNMENT, ATTRIBUTIONS, *GRAPHS, ABOUT):
            (path / old).unlink(missing_ok=True)
    for name, data in files.items():
        write_whole(path / name, data)
