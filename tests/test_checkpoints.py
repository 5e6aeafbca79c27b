"""Weights are read as they were written; a file that is not this model's is named."""

import re

import pytest
import torch
from safetensors.torch import save_file
from small_models import VOCABULARY, small_plan

from context_nmt.corpus.vocabulary import PADDING
from context_nmt.files import UserError
from context_nmt.models import checkpoints
from context_nmt.models.building import build

CPU = torch.device("cpu")
VOCABULARIES = {"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY}


def make_model(seed=1, **settings):
    torch.manual_seed(seed)
    return build(small_plan(**settings), **VOCABULARIES)


def save_run(folder, model, **settings):
    path = folder / checkpoints.RUN_WEIGHTS
    metadata = checkpoints.model_metadata(small_plan(**settings), **VOCABULARIES)
    checkpoints.save(path, checkpoints.weights_of(model), metadata)
    return path


def raises(action, *arguments):
    """The message of the UserError."""
    with pytest.raises(UserError) as error:
        action(*arguments)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_weights_and_metadata_come_back(tmp_path):
    weights = {"b": torch.randn(3, 4).T, "a": torch.arange(3, dtype=torch.bfloat16), "c": torch.tensor(1.5)}
    metadata = {"z": [1, 2.5, None], "a": {"ü": True}}
    checkpoints.save(tmp_path / "file", weights, metadata)
    loaded, loaded_metadata = checkpoints.load(tmp_path / "file")
    assert loaded_metadata == metadata
    assert loaded.keys() == weights.keys()
    for name, tensor in weights.items():
        assert loaded[name].dtype == tensor.dtype
        assert torch.equal(loaded[name], tensor)


def test_two_saves_have_the_same_bytes(tmp_path):
    weights = {name: torch.randn(3) for name in "abcdefgh"}
    metadata = {name: name for name in "abcdefgh"}
    checkpoints.save(tmp_path / "one", weights, metadata)
    checkpoints.save(tmp_path / "two", dict(reversed(weights.items())), dict(reversed(metadata.items())))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize(("tying", "tables"), [("all", 1), ("decoder", 2), ("none", 3)])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_a_run_comes_back_with_equal_outputs_and_ties(tmp_path, tying, tables, norm, positions):
    settings = {"tying": tying, "norm": norm, "positions": positions, "maximum_positions": 9}
    model = make_model(**settings)
    path = save_run(tmp_path, model, **settings)
    stored, _ = checkpoints.load(path)
    assert sum(tensor.shape == (VOCABULARY, 8) for tensor in stored.values()) == tables
    torch.manual_seed(2)
    loaded = checkpoints.load_run(tmp_path, CPU)
    assert not loaded.training
    source, target = torch.randint(PADDING + 1, VOCABULARY, (2, 3, 7))
    with torch.no_grad():
        assert torch.equal(loaded.output(loaded(source, target)), model.eval().output(model(source, target)))
    has_shared_table = loaded.source_embedding.table.weight is loaded.target_embedding.table.weight
    assert has_shared_table == (tying == "all")
    assert (loaded.output.weight is loaded.target_embedding.table.weight) == (tying != "none")


@pytest.mark.parametrize("kept", [0, 4, 100, 0.5, 0.999])
def test_a_file_that_is_cut_short_is_named(tmp_path, kept):
    path = save_run(tmp_path, make_model())
    content = path.read_bytes()
    path.write_bytes(content[: kept if isinstance(kept, int) else int(kept * len(content))])
    assert raises(checkpoints.load_run, tmp_path, CPU).startswith(f"{path}: not a checkpoint")


def test_a_file_of_another_program_or_version_is_named(tmp_path):
    path = save_run(tmp_path, make_model())
    weights, metadata = checkpoints.load(path)
    metadata["plan"]["model"]["colour"] = "red"
    checkpoints.save(path, weights, metadata)
    named = raises(checkpoints.load_run, tmp_path, CPU)
    assert re.match(rf"{re.escape(str(path))}: not the plan of a model \(.*colour: unknown key.*\)", named)
    for foreign in (None, {"format": "pt"}, {"json": "{"}):
        save_file({"weight": torch.zeros(2)}, path, metadata=foreign)
        assert raises(checkpoints.load_run, tmp_path, CPU).startswith(f"{path}: not a checkpoint")


def test_weights_of_another_model_are_named_by_name_or_shape(tmp_path):
    weights = checkpoints.weights_of(make_model())
    path = tmp_path / "file"
    named = raises(checkpoints.load_weights, make_model(encoder_layers=1, attention_bias=True), weights, path)
    assert re.fullmatch(re.escape(f"{path}: weights of another model; only one of the two has ") + r"\S+\.bias", named)
    shaped = raises(checkpoints.load_weights, make_model(feed_forward_width=16), weights, path)
    assert re.fullmatch(
        re.escape(f"{path}: ") + r"\S+ has shape \(12(, 8)?,?\), the model needs \(16(, 8)?,?\)", shaped
    )


def test_filling_copies_and_does_not_share(tmp_path):
    model, weights = make_model(seed=1), {**checkpoints.weights_of(make_model(seed=2))}
    checkpoints.load_weights(model, weights, tmp_path)
    parameters = checkpoints.weights_of(model)
    assert all(torch.equal(parameters[name], weights[name]) for name in weights)
    assert all(parameters[name].data_ptr() != weights[name].data_ptr() for name in weights)
    assert all(parameter.requires_grad for parameter in parameters.values())
