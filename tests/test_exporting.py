"""An exported model translates as the run does; what CTranslate2 cannot run is refused by its name."""

import shutil

import numpy as np
import pytest
import torch
from small_models import small_plan
from tiny_training import make_experiment, save_run

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.vocabulary import BEGIN, PADDING, SPECIALS
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import UserError, read_json, write_json
from context_nmt.models.checkpoints import load_run
from context_nmt.models.exporting import export
from context_nmt.models.plans import Filling
from context_nmt.settings.decoding import DecodingSettings

LONGEST = 12
CONVENTIONS = {
    "recipe": {},
    "post-norm, biases, GELU": {"norm": "post", "attention_bias": True, "activation": "gelu"},
    "learned positions, no scale": {"positions": "learned", "maximum_positions": 40, "embedding_scale": False},
    "untied, source bias, epsilon": {"tying": "none", "source_embedding_bias": True, "layer_norm_epsilon": 0.1},
}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """The text folder of a run."""
    binarized = make_experiment(tmp_path_factory.mktemp("exporting"), pairs=20).binarized
    folder = binarized.parent / "text"
    shutil.copytree(binarized / "training", folder)
    halves = [read_json(binarized / half / "corpus.json") for half in ("training", "tests")]
    write_json(folder / "corpus.json", halves[0] | halves[1])
    return folder


def make_run(folder, text, slots=None, **settings):
    torch.manual_seed(3)
    save_run(folder, small_plan(slots, **settings), BinarizedCorpus(text))
    shutil.copytree(text, folder / "text")
    return folder


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_greedy_output_is_equal(convention, text, tmp_path):
    ctranslate2 = pytest.importorskip("ctranslate2", reason="needs the package ctranslate2 (make speed installs it)")
    run = make_run(tmp_path / "run", text, **CONVENTIONS[convention])
    export(run, tmp_path / "exported")
    units = BinarizedCorpus(text).source_vocabulary.units
    random = np.random.default_rng(5)
    sentences = [random.integers(4, len(units), random.integers(1, 9)) for _ in range(200)]
    greedy = DecodingSettings(beam=1, maximum_length_ratio=0.0, maximum_length_offset=LONGEST)
    device = torch.device("cpu")
    ours = translate_ids(load_run(run, device), sentences, greedy)
    translator = ctranslate2.Translator(str(tmp_path / "exported"), device="cpu", compute_type="float32")
    theirs = translator.translate_batch(
        [[units[unit] for unit in sentence] for sentence in sentences],
        beam_size=1,
        min_decoding_length=0,
        max_decoding_length=LONGEST,
        suppress_sequences=[[SPECIALS[PADDING]], [SPECIALS[BEGIN]]],  # our search never chooses them
    )
    expected = [[units[unit] for unit in hypotheses[0].tokens] for hypotheses in ours]
    assert len({tuple(line) for line in expected}) > 5
    same = sum(line == result.hypotheses[0] for line, result in zip(expected, theirs, strict=True))
    assert same >= 198  # two ways of adding up may decide a tie differently
    assert (tmp_path / "exported/text/corpus.json").is_file()


HAN = {"encoder_output": (Filling(mechanism="hierarchical_attention", settings={"sentences": 1}),)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "masked"}, r"is a masked model; .* \(model.kind\)"),
        ({"kind": "concatenation", "previous_sources": 1}, r"is a concatenation model; .* \(model.kind\)"),
        ({"slots": HAN}, "has hierarchical_attention in encoder_output"),
        (
            {"slots": {"cross_attention": (Filling(mechanism="lexical_shortcuts"),) * 2}},
            "has lexical_shortcuts in cross",
        ),
    ],
)
def test_what_the_other_program_cannot_run_is_refused(options, message, text, tmp_path):
    run = make_run(tmp_path / "run", text, **options)
    with pytest.raises(UserError, match=message):
        export(run, tmp_path / "exported")
    assert not (tmp_path / "exported").exists()


def test_a_folder_that_exists_stays_as_it_is(text, tmp_path):
    run = make_run(tmp_path / "run", text)
    with pytest.raises(UserError, match="already exists"):
        export(run, run)
    with pytest.raises(UserError, match="no trained run"):
        export(tmp_path, tmp_path / "exported")
