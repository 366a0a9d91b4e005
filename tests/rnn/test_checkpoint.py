"""The recurrent checkpoint that ships, and folders like it: written, read, refused."""

import itertools
import json
import string
from pathlib import Path

import pytest
import torch

import transformer
from tests.support.build import refusal, saved_checkpoint, tiny_tokenizer
from tests.support.recurrent import model as random_model
from transformer import CheckpointError, InputError, rnn, save_checkpoint
from transformer.rnn import Recurrent, RecurrentConfig, RecurrentTrace
from transformer.rnn.alignment import alignment, best_head, right_cells
from transformer.rnn.decoding import greedy
from transformer.rnn.pretrained import ARCHITECTURE, BUNDLED
from transformer.training.recipe import read_recipe, task_of
from transformer.training.tasks import unseen_pairs

ROOT = Path(__file__).resolve().parents[2]
NAME = "reverse-recurrent"
FOLDER = BUNDLED / NAME


@pytest.fixture(scope="module")
def shipped() -> Recurrent:
    return rnn.load(NAME)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A random model with `tiny_tokenizer`, in a folder of its own."""
    tokenizer = tiny_tokenizer()
    model = random_model(vocab_size=len(tokenizer))
    save_checkpoint(tmp_path / "mine", model, tokenizer, ("Invented", "Imagined"), torch.float32, ARCHITECTURE)
    return tmp_path / "mine"


# -- what ships -------------------------------------------------------------------------------------------------------


def test_the_bundled_checkpoint_is_complete_and_small(shipped: Recurrent) -> None:
    files = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    assert set(files) == {
        "README.md", "config.json", "metrics.json", "model.safetensors", "tokenizer.model", "training.csv",
    }  # fmt: skip
    assert sum(files.values()) < 1_000_000
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(word in card.lower() for word in ("data", "licence", "attribution", "settings", "score"))
    metrics = shipped.metrics
    assert f"| 3 to 16 | {metrics['sentences']:,} | {100 * metrics['exact']:.2f}% |" in card
    assert f"{shipped.model.parameter_count():,} parameters" in card
    assert not shipped.model.training and not any(p.requires_grad for p in shipped.model.parameters())
    assert {parameter.dtype for parameter in shipped.model.parameters()} == {torch.float32}


def test_the_bundled_checkpoint_has_the_vocabulary_of_the_transformer() -> None:
    other = ROOT / "checkpoints" / "reverse"
    assert (FOLDER / "tokenizer.model").read_bytes() == (other / "tokenizer.model").read_bytes()
    config = RecurrentConfig.from_dict(json.loads((FOLDER / "config.json").read_text(encoding="utf-8"))["model"])
    assert config == RecurrentConfig(31, 64, 64, 64, max_positions=64)


def test_the_bundled_checkpoint_answers_correctly(shipped: Recurrent) -> None:
    """Every input of one or two letters, and a few of each trained length that training never saw."""
    spec = task_of(read_recipe(ROOT / "recipes" / "reverse.toml"))
    assert spec is not None
    short = [*string.ascii_lowercase, *map("".join, itertools.product(string.ascii_lowercase, repeat=2))]
    longer = [source for source, _ in unseen_pairs(spec, (3, 16), 320)]
    inputs = [*short, *longer, *(letter * length for letter in "aqz" for length in range(3, 17))]
    for length, texts in itertools.groupby(sorted(inputs, key=len), len):
        same = list(texts)
        found = greedy(shipped.model, torch.tensor([shipped.encode(text) for text in same]), length + 1)
        wrong = [
            text for text, ours in zip(same, found, strict=True) if shipped.tokenizer.decode(ours.ids) != text[::-1]
        ]
        assert not wrong


def test_a_recurrent_checkpoint_is_not_listed_or_loaded_as_a_transformer() -> None:
    assert NAME not in transformer.available()
    for name in (NAME, FOLDER):
        with pytest.raises(
            CheckpointError, match=r"holds a recurrent .* attention, not a Transformer; open it with"
        ) as e:
            transformer.load(name)
        assert str(e.value).endswith("transformer.rnn.load") and "\n" not in str(e.value)
    refusal(FOLDER, "transformer.rnn.load")


def test_the_wheel_contains_the_recurrent_checkpoint() -> None:
    """The wheel holds the package as it lies there (pyproject.toml), but for what git ignores."""
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    parts = FOLDER.relative_to(ROOT).parts
    assert parts[0] == "transformer" and not {f"{part}/" for part in parts} & set(ignored)
    assert not [line for line in ignored if line.startswith("*.") and line != "*.egg-info/"]


@pytest.mark.slow
def test_the_checkpoint_without_attention_shows_the_bottleneck() -> None:
    """It is right for inputs of up to 6 letters and at a loss with 16, which its training had too."""
    found, other = rnn.load("reverse-no-attention"), BUNDLED / "reverse-no-attention"
    assert found.config == RecurrentConfig(31, 64, 64, 64, attention=False)
    assert (other / "tokenizer.model").read_bytes() == (FOLDER / "tokenizer.model").read_bytes()
    card = (other / "README.md").read_text(encoding="utf-8")
    assert f"{found.model.parameter_count():,} parameters" in card
    spec = task_of(read_recipe(ROOT / "recipes" / "reverse.toml"))
    assert spec is not None
    for length, least, most in ((6, 0.97, 1.0), (16, 0.0, 0.2)):
        pairs = unseen_pairs(spec, (length, length), 60)
        sources = torch.tensor([found.encode(source) for source, _ in pairs])
        outputs = [found.tokenizer.decode(best.ids) for best in greedy(found.model, sources, 40)]
        assert least <= sum(map(str.__eq__, outputs, (target for _, target in pairs))) / 60 <= most
    trace = found.trace("abc")
    assert trace.target_text == "cba" and trace.weights.shape == (4, 0)
    assert torch.equal(trace.contexts, trace.contexts[:1].expand(4, -1))


# -- in use -----------------------------------------------------------------------------------------------------------


def test_a_translation(shipped: Recurrent) -> None:
    found = shipped.translate("Hello")
    assert found.text == "olleh" and found.tokens == ("o", "l", "l", "e", "h", "</s>")
    assert all(0.8 < probability <= 1 for probability in found.probabilities)


@pytest.mark.parametrize("letters", ["a", "headscope", "hello world", "abcdefghijklmnopqrstuvwxyz"])
def test_a_trace_holds_together(shipped: Recurrent, letters: str) -> None:
    trace = shipped.trace(letters)
    source, target = len(trace.source_ids), len(trace.target_out_ids)
    n, align = shipped.config.d_state, shipped.model.attention
    assert trace.source_tokens[-1] == "</s>" and trace.target_in[0] == "<s>" and source == len(letters) + 1
    assert trace.own and trace.complete and trace.target_text == shipped.translate(letters).text
    assert trace.target_in_ids[1:] == trace.target_out_ids[:-1]
    torch.testing.assert_close(trace.weights.sum(1), torch.ones(target))
    torch.testing.assert_close(trace.scores.softmax(1), trace.weights)
    torch.testing.assert_close(trace.weights @ trace.annotations, trace.contexts)
    assert trace.annotations.shape == (source, 2 * n) and trace.states.shape == (target, n)
    before = torch.cat((trace.first_state[None], trace.states[:-1]))  # s_{i-1}
    hidden = torch.tanh(align.query(before)[:, None] + align.key(trace.annotations))
    torch.testing.assert_close(align.score(hidden)[..., 0], trace.scores)
    assert ((trace.reset > 0) & (trace.reset < 1) & (trace.update > 0) & (trace.update < 1)).all()
    torch.testing.assert_close(trace.outputs @ shipped.model.embedding.weight.T, trace.logits)
    wanted = shipped.translate(letters).probabilities
    assert trace.probabilities.tolist() == pytest.approx(wanted, abs=1e-5)
    if len(letters) <= 16:
        found = alignment(trace.weights)
        assert found.hits == found.rows == len(letters) and found.weight > 0.5


def test_a_trace_of_a_given_target(shipped: Recurrent) -> None:
    trace = shipped.trace("abc", "xba")
    assert not trace.own and trace.complete and trace.target_text == "xba"
    assert trace.target_out == ("x", "b", "a", "</s>") and trace.target_in == ("<s>", "x", "b", "a")
    assert trace.probabilities[0] < 0.05 < trace.probabilities[1]


def test_a_trace_is_frozen(shipped: Recurrent) -> None:
    trace = shipped.trace("abc")
    assert isinstance(trace, RecurrentTrace)
    with pytest.raises(AttributeError):
        trace.own = False  # type: ignore[misc]
    with pytest.raises(RuntimeError):
        trace.weights.zero_()


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "is empty; type a sentence of up to 64"), ("  ", "is empty"), ("a" * 1000, "1,001 tokens; at most 64")],
)
def test_text_that_cannot_be_read(shipped: Recurrent, text: str, message: str) -> None:
    for act in (shipped.translate, shipped.trace):
        with pytest.raises(InputError, match=message):
            act(text)
    with pytest.raises(InputError, match="at most 4 are allowed"):
        shipped.trace("abcd", limit=4)


# -- folders ----------------------------------------------------------------------------------------------------------


def test_a_saved_checkpoint_is_read_back(saved: Path) -> None:
    found = rnn.load(saved)
    wanted = random_model(vocab_size=67)
    assert found.name == "mine" and found.languages == ("Invented", "Imagined") and found.metrics == {}
    assert found.config == wanted.config and len(found.tokenizer) == 67
    for name, value in found.model.named_parameters():
        assert torch.equal(value, wanted.get_parameter(name)), name


def test_a_folder_without_a_checkpoint_is_refused(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(
        CheckpointError, match="unknown recurrent checkpoint 'none'; .* choose reverse-no-attention or "
    ):
        rnn.load("none")
    transformers = saved_checkpoint(tmp_path / "other")
    with pytest.raises(CheckpointError, match=r"another architecture, .* 'headscope-recurrent' can be opened"):
        rnn.load(transformers)
    (saved / "tokenizer.model").unlink()
    with pytest.raises(CheckpointError, match="tokenizer.model is missing"):
        rnn.load(saved)


def test_a_damaged_folder_gives_a_message(saved: Path) -> None:
    about = json.loads((saved / "config.json").read_text())
    about["model"]["d_state"] = 6
    (saved / "config.json").write_text(json.dumps(about))
    with pytest.raises(CheckpointError, match=r"model.safetensors: .* has shape \[.*\]; config.json needs \[.*\]"):
        rnn.load(saved)
    about["model"]["d_state"] = 10**9
    (saved / "config.json").write_text(json.dumps(about))
    with pytest.raises(CheckpointError, match="d_state is 1000000000; choose a whole number from 1 to 8,192"):
        rnn.load(saved)


def test_a_recurrent_folder_among_the_transformers_gives_one_sentence(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(tmp_path))
    with pytest.raises(CheckpointError, match="not a Transformer; open it with transformer.rnn.load"):
        transformer.load("mine")


# -- the diagonal -----------------------------------------------------------------------------------------------------


def test_right_cells_are_the_reversed_diagonal() -> None:
    assert right_cells(4, 4) == [(0, 2), (1, 1), (2, 0)]  # abc</s> read, cba</s> written
    assert right_cells(4, 2) == [(0, 2), (1, 1)] and right_cells(4, 9) == right_cells(4, 4)


def test_alignment_and_the_best_head_by_hand() -> None:
    first = torch.tensor([[0.1, 0.7, 0.2], [0.5, 0.4, 0.1], [0.0, 0.0, 1.0]])  # ab</s>: right are (0, 1) and (1, 0)
    second = torch.tensor([[0.0, 0.3, 0.7], [0.9, 0.1, 0.0], [0.0, 0.0, 1.0]])
    found = alignment(first)
    assert (found.weight, found.hits, found.rows) == (pytest.approx(0.6), 2, 2)
    assert alignment(second).hits == 1 and alignment(second).weight == pytest.approx(0.6)
    third = torch.tensor([[0.0, 0.7, 0.3], [0.9, 0.1, 0.0], [0.0, 0.0, 1.0]])
    weights = torch.stack((torch.stack((first, second)), torch.stack((third, third))))
    assert best_head(weights) == (1, 0)
    with pytest.raises(ValueError, match="contain no letter"):
        alignment(torch.ones(1, 1))
