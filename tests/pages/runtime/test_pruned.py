"""Models without some heads, by names in links: the same as the switch, on every page, sharing tensors, bounded."""

from pathlib import Path

import pytest
import torch

from pages.runtime import pruned, session_models
from pages.runtime.session_models import SessionModel
from pages.runtime.shared import clear_caches, identity, owner_of
from tests.support.app import (
    address,
    checkpoints,
    every_part,
    linked,
    messages,
    open_page,
    page_text,
    switch_page,
)
from tests.support.build import tiny_model, tiny_tokenizer
from transformer.checkpoints.archive import zipped
from transformer.checkpoints.folder import CheckpointError, checkpoint_files
from transformer.interventions.sets import Interventions

HEADS = "encoder_self.1.3,cross.2.1"


@pytest.fixture(autouse=True)
def empty(folder: Path) -> None:
    clear_caches()


@pytest.mark.parametrize("heads", ["cross.1.2", HEADS, "decoder_self.2", "all.*.1,cross.1.3", "all"])
def test_it_is_the_switch_zero_to_the_last_bit(heads: str) -> None:
    whole, model = session_models.load("tiny"), session_models.load(f"tiny~{heads}")
    switches = Interventions.parse({"zero": heads})
    for source in ("ka lo minu", "re"):
        expected = whole.trace(source, "zen pol", interventions=switches)
        trace = model.trace(source, "zen pol")
        assert torch.equal(trace.logits, expected.logits)
        assert model.translate(source).tokens == whole.translate(source, interventions=switches).tokens
        assert not torch.equal(trace.logits, whole.trace(source, "zen pol").logits)
    assert model.metrics == {} and trace.checkpoint == model.name


def test_it_shares_every_tensor_but_the_changed_ones() -> None:
    whole, model = session_models.load("tiny").model, session_models.load(f"tiny~{HEADS}").model
    own = {
        name for name, value in model.state_dict().items() if value.data_ptr() != whole.state_dict()[name].data_ptr()
    }
    assert own == {"encoder.0.self_attention.output.weight", "decoder.1.cross_attention.output.weight"}
    joint = [layer.self_attention.joint_weight.data_ptr() for layer in (whole.decoder[0], model.decoder[0])]  # type: ignore[union-attr]
    assert joint[0] == joint[1]
    assert type(model.decoder[1]) is type(whole.decoder[1])  # prepared for decoding too


def test_one_set_of_heads_is_one_model_and_few_are_kept() -> None:
    first = session_models.load("tiny~cross.1.1,cross.2.1")
    assert session_models.load("tiny~cross.2.1,cross.1.1,cross.2.1") is first is session_models.load("tiny~cross.*.1")
    assert identity(first) != identity(session_models.load("tiny")) and first.name == "tiny without 2 heads"
    others = [session_models.load(f"tiny~{kind}.{layer}.{head}") for kind in ("cross", "encoder_self")
              for layer in (1, 2) for head in (1, 2, 3)]  # fmt: skip
    assert len({identity(model) for model in others}) == len(others) > pruned.MOST
    assert len(pruned.MODELS.accountant.cache_keys(pruned.MODELS)) == pruned.MOST
    again = session_models.load("tiny~cross.*.1")
    assert again is not first and identity(again) == identity(first)


def test_it_takes_little_memory_and_leaves_with_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = tiny_tokenizer()
    data = zipped(checkpoint_files(tiny_model(7, vocab_size=len(tokenizer)), tokenizer, ("A", "B")), "x")
    own = {"mine/x": SessionModel("mine/x", data)}
    monkeypatch.setattr(session_models, "own_models", lambda: own)
    whole = session_models.load("mine/x")
    before = own["mine/x"].bytes
    model = session_models.load("mine/x~cross.1.2")
    assert owner_of(model) == owner_of(whole) == own["mine/x"].id and model.name == "mine/x without cross.1.2"
    assert 0 < own["mine/x"].bytes - before < pruned.MODULES_BYTES + 250_000
    with pytest.raises(CheckpointError, match="no longer exists"):
        session_models.load("mine/y~cross.1.2")


def test_heads_are_added_to_a_name() -> None:
    assert session_models.name_without("tiny~cross.1.2", ["cross.2.1"]) == "tiny~cross.1.2,cross.2.1"


# -- in links ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("page, part", {page: (page, part) for page, part in reversed(every_part())}.values())
def test_a_link_opens_it_on_every_page(page: str, part: str) -> None:
    """The first part of each."""
    name = f"tiny~{HEADS}"
    app = open_page(page, checkpoint=name, **linked(part))
    assert not messages(app)
    assert app.selectbox(key="checkpoint").value == name == address(app)["checkpoint"]
    assert checkpoints(app)[-1] == "tiny without 2 heads"
    switch_page(app, "model").run()
    assert not app.exception and address(app)["checkpoint"] == name
    assert "This is tiny with the output of these heads at 0: encoder_self.1.3, cross.2.1." in page_text(app)
    app.selectbox(key="checkpoint").select("tiny").run()
    assert address(app)["checkpoint"] == "tiny" and "without 2 heads" not in " ".join(checkpoints(app))


def test_a_link_within_the_app_keeps_the_sentence() -> None:
    app = open_page("roles")
    app.query_params.clear()
    app.query_params["checkpoint"] = f"tiny~{HEADS}"
    switch_page(app, "lab").run()
    assert not app.exception and not messages(app)
    assert address(app)["checkpoint"] == f"tiny~{HEADS}" and address(app)["source"] == "ka lo mi"
    app.query_params.clear()
    app.query_params["checkpoint"] = "tiny~cross.1.9"
    switch_page(app, "heads").run()
    assert "has 3 per layer" in messages(app) and address(app)["checkpoint"] == "tiny"


WRONG = {
    "tiny~cross.1.9": "cross.1.9 asks for head 9, but this model has 3 per layer",
    "tiny~cross.7.1": "cross.7.1 asks for layer 7, but this model has 2 there",
    "tiny~": "does not name heads",
    "tiny~cross.1.1,<script>alert(1)</script>": "does not name heads",
    "tiny~" + "cross.1.1," * 4000: "at most 30,000 are allowed",
    "nothing~cross.1.1": "Available: tiny",
    "tiny~cross.1.1~cross.1.2": "Available: tiny",
}


@pytest.mark.parametrize("name", WRONG, ids=[name[:30] for name in WRONG])
def test_a_wrong_name_gives_one_sentence(name: str) -> None:
    app = open_page("heads", checkpoint=name)
    assert messages(app).count("The link asks for ") == 1
    assert WRONG[name] in messages(app) and "<script>" not in messages(app)
    assert app.selectbox(key="checkpoint").value == "tiny" == address(app)["checkpoint"]
    assert not messages(app.run())
