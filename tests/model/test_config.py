import dataclasses
import math

import pytest

from tests.support.build import tiny_config
from transformer.model.config import LIMITS, PRESETS, ConfigError, ModelConfig, preset


def test_is_frozen_and_hashable():
    config = tiny_config()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.d_model = 8
    assert hash(config) == hash(tiny_config())


def test_fields_missing_in_an_older_config_are_the_papers():
    config = ModelConfig.from_dict({"vocab_size": 41, "norm": "pre"})
    assert config.residual and config.causal
    without = tiny_config(norm="none", residual=False, causal=False)
    assert ModelConfig.from_dict(without.to_dict()) == without
    assert {**without.to_dict(), "norm": "post", "residual": True, "causal": True} == tiny_config().to_dict()


def test_scale_is_one_over_the_root_of_d_k():
    assert tiny_config(d_model=64, heads=4).scale == 0.25
    assert tiny_config(d_model=64, heads=4, d_k=4).scale == 0.5
    assert tiny_config(d_model=64, heads=4, d_k=4, scaling=False).scale == 1


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", ["low", "high", True, 7.0, "7", None, [7], math.nan])
def test_whole_numbers_within_limits(name, value):
    low, high = LIMITS[name]
    arrived = {"low": low - 1, "high": high + 1}.get(value, value) if isinstance(value, str) else value
    with pytest.raises(ConfigError, match=f"^{name} is .*; choose a whole number from {low} to {high:,}$"):
        tiny_config(**{name: arrived})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("dropout", 1.0), ("dropout", -0.1), ("dropout", math.nan), ("dropout", math.inf), ("dropout", "0.1"),
        ("dropout", True), ("attention_dropout", 1), ("attention_dropout", None),
        ("layer_norm_eps", 0), ("layer_norm_eps", 1), ("layer_norm_eps", math.nan), ("layer_norm_eps", "tiny"),
        ("activation", "tanh"), ("activation", ["relu"]), ("norm", "both"), ("norm", None), ("positions", 3),
        ("norm", False), ("residual", "off"), ("residual", 0), ("residual", None), ("causal", 1), ("causal", []),
        ("d_k", 0), ("d_k", 8193), ("d_k", 2.0), ("d_k", True), ("scaling", 1), ("scaling", "off"), ("scaling", None),
            ("target_vocab_size", 4), ("target_vocab_size", True), ("embedding_scale", 1), ("tied_output", None),
            ("output_bias", "yes"), ("layout", "halved"), ("layout", None),
    ],
)  # fmt: skip
def test_other_fields_are_checked_and_named(field, value):
    with pytest.raises(ConfigError, match=f"^{field} is .*; choose "):
        tiny_config(**{field: value})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"heads": 5}, "d_model is 66 with 5 heads; choose"),
        ({"d_model": 33}, "d_model is 33; .* choose an even number"),
        *(({"pad_id": value}, "special ids .* below vocab_size, 41") for value in (41, -1, 1.0, True, "0", None)),
        ({"pad_id": 3}, "must differ"),
        ({"source_end_id": 41}, "source_end_id is 41; it must be below vocab_size, 41"),
        ({"d_modle": 64}, "a model configuration has no field 'd_modle'; choose from vocab_size"),
    ],
)
def test_fields_must_fit_each_other(changes, message):
    with pytest.raises(ConfigError, match=message):
        tiny_config(**changes)


@pytest.mark.parametrize("values", [[], "d_model", None, 7])
def test_only_a_table_describes_a_model(values):
    with pytest.raises(ConfigError, match="a table of names and values"):
        ModelConfig.from_dict(values)


def test_vocabulary_has_no_default():
    with pytest.raises(ConfigError, match="vocab_size"):
        ModelConfig.from_dict({"d_model": 64})


@pytest.mark.parametrize(
    "changes", [{"d_model": 10**3000}, {"norm": "x" * 10**5}, {"dropout": list(range(10**4))}, {"x" * 10**5: 1}]
)
def test_a_message_stays_readable_whatever_arrived(changes):
    with pytest.raises(ConfigError) as error:
        tiny_config(**changes)
    assert len(str(error.value)) < 600


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_valid(name):
    config = preset(name, 37_000)
    assert config.d_head == 64 or name in ("tiny", "small")
    assert (config.norm, config.activation, config.positions) == ("post", "relu", "sinusoidal")


@pytest.mark.parametrize(
    ("name", "row"),
    # Table 3 of the paper: N, d_model, d_ff, h, P_drop
    [("base", (6, 512, 2048, 8, 0.1)), ("big", (6, 1024, 4096, 16, 0.3))],
)
def test_base_and_big_are_rows_of_table_3(name, row):
    config = preset(name, 37_000)
    assert (config.encoder_layers, config.d_model, config.d_ff, config.heads, config.dropout) == row
    assert config.decoder_layers == config.encoder_layers


def test_preset_with_a_change_and_unknown_preset():
    assert preset("small", 8_000, norm="pre").norm == "pre"
    with pytest.raises(ConfigError, match="unknown preset 'huge'; choose tiny, small, base or big"):
        preset("huge", 8_000)
    with pytest.raises(ConfigError, match=r"did you mean small\?"):
        preset("smal", 8_000)
    with pytest.raises(ConfigError, match="a model configuration has no field"):
        preset("tiny", 8_000, layers=3)
