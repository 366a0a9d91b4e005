"""What a person can type, and what they are told when it cannot be used."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.support.build import sentences, tiny_pretrained
from transformer.checkpoints.folder import CheckpointError, save_checkpoint
from transformer.inference.pretrained import InputError, Pretrained, Translation, available, load, readable
from transformer.interventions.sets import Scale
from transformer.texts import UserError
from transformer.tracing.export import arrays

MODEL = tiny_pretrained()

BLANK = {"": "is empty", "   ": "is empty", "\n\t": "is empty", "\x00\x07": "has no readable character",
         "\ufffd": "has no readable character"}  # fmt: skip


@pytest.mark.parametrize("text", BLANK)
def test_blank_text_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(InputError, match=f"the source text {BLANK[text]}; type a sentence of up to 64 tokens"):
        tiny_pretrained().trace(text, "ka")


def test_too_long_text_is_refused_with_both_numbers() -> None:
    with pytest.raises(InputError, match=r"the source text has [\d,]+ tokens; at most 64 are allowed, shorten it"):
        MODEL.trace("ka " * 10_000)
    with pytest.raises(InputError, match="the target text has .* at most 9 are allowed") as caught:
        MODEL.trace("ka", "lo mi nu re sta ti vu zen pol", limit=9)
    assert caught.value.side == "target" and caught.value.tokens > caught.value.limit == 9


def test_the_longest_allowed_text_passes() -> None:
    ids = MODEL.encode("ka lo")
    assert MODEL.encode("ka lo", limit=len(ids)) == ids
    with pytest.raises(InputError):
        MODEL.encode("ka lo", limit=len(ids) - 1)


def test_unknown_characters_keep_their_face() -> None:
    trace = tiny_pretrained().trace("ka 漢", "lo")
    place = trace.source_tokens.index("<unk>")
    assert trace.source_labels[place] == "漢"


def test_texts_that_are_one_to_the_model_are_two_traces() -> None:
    one, two = MODEL.trace("ka \u2603", "re"), MODEL.trace("ka \u2602", "re")
    assert one.source_ids == two.source_ids and one.source_labels != two.source_labels and one.id != two.id
    assert MODEL.trace("ka \u2603", "re").id == one.id


def test_readable_shows_a_lone_mark() -> None:
    assert readable(["▁ka", "lo", "▁", "</s>"]) == ("ka", "lo", "␣", "</s>")


def test_batches_translate_as_one_by_one() -> None:
    texts = [*sentences()[:5], "", " ", *sentences()[5:8]]
    for one, alone in zip(MODEL.translate_all(texts, batch_tokens=200), map(MODEL.translate, texts), strict=True):
        assert (str(one), one.ids, one.tokens) == (alone.text, alone.ids, alone.tokens)
        assert one.score == pytest.approx(alone.score, abs=1e-4)
    with pytest.raises(InputError, match="text 2: the source text has"):
        MODEL.translate_all(["ka", "ka " * 100])


@pytest.mark.parametrize("text", BLANK)
def test_the_translation_of_a_text_without_a_token_is_empty_everywhere(text: str) -> None:
    model, nothing = tiny_pretrained(), Translation()
    assert model.translate(text) == model.translate(text, 3, prefix="ka") == nothing
    assert model.n_best(text) == model.n_best(text, n=2) == [nothing]
    assert model.translate_all(["ka", text])[1] == nothing and model.n_best_all([text, "ka"], n=2)[0] == [nothing]
    assert (nothing.text, nothing.score, nothing.normalised, nothing.complete) == ("", 0, 0, True)


def test_load_by_name_by_path_and_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = tiny_pretrained()
    save_checkpoint(tmp_path / "mine", tiny.model, tiny.tokenizer, tiny.languages)
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(tmp_path))
    assert available()["mine"] == tmp_path / "mine"
    assert load("mine").languages == load(tmp_path / "mine").languages == ("Invented", "Imagined")
    with pytest.raises(CheckpointError, match="there is no checkpoint 'yours'; .* choose .*mine"):
        load("yours")
    with pytest.raises(CheckpointError, match=r"no checkpoint 'en_de'; .* sort; did you mean en-de\\?"):
        load("en_de")
    with pytest.raises(CheckpointError, match="device 'gpu' cannot be used here; choose cpu, or cuda or mps"):
        load("mine", "gpu")


def test_load_names_the_command_that_fetches_and_the_types_there_are(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is fetched with: headscope get Helsinki-NLP/opus-mt-en-de"):
        load("Helsinki-NLP/opus-mt-en-de")
    with pytest.raises(UserError, match="there is no dtype 'float33'; choose .*; did you mean float32"):
        load("reverse", dtype="float33")
    with pytest.raises(UserError, match="there is no dtype torch.int8; choose float32"):
        load("reverse", dtype=torch.int8)


@pytest.mark.parametrize(("dtype", "close"), [("float64", 1e-5), (torch.bfloat16, 0.2), ("float16", 0.02)])
def test_a_model_computes_in_the_type_it_is_loaded_in(dtype: torch.dtype | str, close: float) -> None:
    plain, model = load("reverse"), load("reverse", dtype=dtype)
    trace, wanted = model.trace("words", "sdrow"), plain.trace("words", "sdrow")
    assert str(model.model.embedding.weight.dtype).endswith(str(dtype).removeprefix("torch."))
    assert trace.logits.dtype == (torch.float64 if dtype == "float64" else torch.float32)
    assert not torch.equal(trace.logits.float(), wanted.logits)
    torch.testing.assert_close(trace.logits.float().clone(), wanted.logits.clone(), atol=close, rtol=close)
    assert model.translate("words").text == model.translate("words", 4).text == "sdrow"
    assert arrays(trace)["cross.weights"].shape == trace.cross.weights.shape
    assert model.trace("words", keep="logits")["logits"].dtype == trace.logits.dtype


def test_a_trainable_copy_takes_gradients_and_the_model_none() -> None:
    """The gradient of ln p along itself is its change, to first order."""
    model = load("reverse", dtype="float64")
    trace, copy = model.trace("abc", "cba"), model.trainable()
    source, fed, out = (torch.tensor([ids]) for ids in (trace.source_ids, trace.target_in_ids, trace.target_out_ids))

    def value() -> torch.Tensor:
        return copy.model(source, fed).log_softmax(-1).gather(-1, out[..., None]).sum()

    before = value()
    before.backward()
    gradients = [parameter.grad for parameter in copy.model.parameters()]
    assert all(gradient is not None for gradient in gradients)
    assert not any(parameter.requires_grad or parameter.grad is not None for parameter in model.model.parameters())
    step = 1e-4
    with torch.no_grad():
        for parameter in copy.model.parameters():
            assert parameter.grad is not None
            parameter += step * parameter.grad
    length = sum(float((one**2).sum()) for one in gradients if one is not None)
    assert (value() - before).item() == pytest.approx(step * length, rel=0.05)
    assert torch.equal(model.trace("abc", "cba").logits, trace.logits)
    assert copy.translate("words").text == "sdrow"


SWITCHED = "interventions must be an Interventions, for example Interventions.parse('scaling=off'); this is "
WRONG: dict[str, tuple[Callable[[Pretrained], object], str]] = {
    "a number to trace": (lambda m: m.trace(3), "the source must be a text; this is 3, of type int"),
    "a list to trace": (lambda m: m.trace(["a"]), "the source must be a text; this is ['a'], of type list"),
    "a number as target": (lambda m: m.trace("ka", 3), "target must be a text, or None for the model's own"),
    "nothing to translate": (lambda m: m.translate(None), "the source must be a text; this is None, of type NoneType"),
    "one text as many": (lambda m: m.translate_all("ka"), "texts must be a list of texts; this is 'ka', of type str"),
    "numbers as texts": (lambda m: m.translate_all(["ka", 1]), "texts[1] must be a text; this is 1, of type int"),
    "a text as limit": (lambda m: m.trace("ka", limit="9"), "limit must be a whole number, or None"),
    "no tokens": (lambda m: m.trace("ka", limit=0), "limit is 0; give a whole number of at least 1"),
    "a text as beam": (lambda m: m.translate("ka", beam="4"), "beam must be a whole number"),
    "true beams": (lambda m: m.translate("ka", True), "beam must be a whole number"),
    "no beams": (lambda m: m.translate("ka", 0), "beam is 0; give a whole number of at least 1"),
    "no number as alpha": (lambda m: m.translate("ka", 2, float("nan")), "alpha is nan; give a finite number"),
    "no number, greedy": (lambda m: m.translate_all(["ka"], alpha=float("inf")), "alpha is inf; give a finite number"),
    "a text as n": (lambda m: m.n_best("ka", n="3"), "n must be a whole number of at least 1, or None; this is '3'"),
    "more than beams": (lambda m: m.n_best("ka", n=5), "n is 5; give a whole number from 1 to beam, which is 4"),
    "a text as alpha": (lambda m: m.translate("ka", 2, "x"), "alpha must be a number, or None"),
    "switches in a list": (lambda m: m.trace("ka", interventions=[Scale(1.0)]), SWITCHED + "[Scale("),
    "switches as text": (lambda m: m.translate("ka", interventions="scaling=off"), SWITCHED + "'scaling=off'"),
    "retrace a text": (lambda m: m.retrace("ka"), "trace must be a Trace, as model.trace returns it; this is 'ka'"),
    "retrace with text": (lambda m: m.retrace(m.trace("ka"), "scaling=off"), SWITCHED + "'scaling=off', of type str"),
    "fed a list": (lambda m: m.retrace(m.trace("ka"), fed=[1]), "fed must be a dict of positions and ids, or None"),
    "read a list": (lambda m: m.retrace(m.trace("ka"), read=[1]), "read must be a dict of positions and ids, or None"),
    "edits in a list": (lambda m: m.trace("ka", edits=[1]), "edits must be a dict of tensor names and functions"),
    "load a number": (lambda m: load(3), "name must be the name of a checkpoint, or the path of a folder; this is 3"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_type_gives_one_sentence(what: str) -> None:
    call, sentence = WRONG[what]
    with pytest.raises(UserError) as refused:
        call(tiny_pretrained())
    assert str(refused.value).startswith(sentence) and "\n" not in str(refused.value)
