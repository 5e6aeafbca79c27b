"""Translation of ids with a small random Transformer, and the files and lines that it writes."""

import io
import itertools
import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from shell import run_in_two_processes
from small_models import small_plan
from test_search import assert_same

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.hypotheses import read_hypotheses
from context_nmt.corpus.vocabulary import BEGIN, END
from context_nmt.decoding.decoding_run import decode_run
from context_nmt.decoding.forced_scoring import score_pairs
from context_nmt.decoding.in_batches import split_documents
from context_nmt.decoding.translating import batch_documents, translate_ids
from context_nmt.decoding.translating_text import translate_text
from context_nmt.files import UserError, read_lines, write_json, write_lines
from context_nmt.models.building import build
from context_nmt.models.checkpoints import RUN_WEIGHTS, load_run, model_metadata, save, weights_of
from context_nmt.models.kinds.autoregressive import TranslationModel
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.text import SideSettings, UnitSettings

VOCABULARY = 17
ROOT = Path(__file__).parents[1]
CPU = torch.device("cpu")


def small_model(**settings: object) -> TranslationModel:
    torch.manual_seed(5)
    model = build(small_plan(tying="none", **settings), source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY)
    torch.nn.init.normal_(model.output.weight)  # so that distributions are peaked, and END comes now and then
    return model.double()


@pytest.fixture(scope="module")
def model() -> TranslationModel:
    return small_model()


def random_sentences(count: int, longest: int = 9) -> list[np.ndarray]:
    random = np.random.default_rng(1)
    return [random.integers(4, VOCABULARY, random.integers(0, longest + 1)).astype(np.uint16) for _ in range(count)]


@pytest.mark.parametrize("beam", [1, 4])
def test_a_sentence_alone_is_as_in_a_batch_and_the_order_is_kept(model: TranslationModel, beam: int) -> None:
    sentences = random_sentences(30)
    settings = DecodingSettings(beam=beam, n_best=beam, batch_tokens=200, maximum_length_offset=8)
    alone = [translate_ids(model, [sentence], settings)[0] for sentence in sentences]
    assert len({hypotheses[0].tokens for hypotheses in alone}) > 8  # the model looks at its source
    assert_same(translate_ids(model, sentences, settings), alone)


def never_ending(model: TranslationModel) -> TranslationModel:
    model.output.register_forward_hook(lambda module, states, logits: logits.index_fill(-1, torch.tensor([END]), -1e3))
    return model


def test_maximum_length_follows_the_source() -> None:
    settings = DecodingSettings(beam=1, maximum_length_ratio=1.5, maximum_length_offset=2)
    model = never_ending(small_model())
    results = translate_ids(model, [np.array([4] * length) for length in (0, 1, 2, 7)], settings)
    assert [len(hypotheses[0].tokens) for hypotheses in results] == [2, 3, 5, 12]


def test_learned_positions_end_a_translation_and_refuse_a_source() -> None:
    model = never_ending(small_model(positions="learned", maximum_positions=9))
    ((hypothesis,),) = translate_ids(model, [np.array([4] * 8)], DecodingSettings())
    assert len(hypothesis.tokens) == 8  # END takes the ninth position
    with pytest.raises(UserError, match=r"sentence 2 has 9 units.*model.maximum_positions 9"):
        translate_ids(model, [np.array([4]), np.array([4] * 9)], DecodingSettings())


@given(st.lists(st.lists(st.integers(0, 20), min_size=1), max_size=20), st.integers(1, 200), st.integers(1, 5))
def test_batches_are_of_whole_documents_the_largest_first(sizes: list[list[int]], tokens: int, width: int) -> None:
    """A sentence without a document is a document; a document that is too long for any batch has its own."""
    lengths = np.array([length for document in sizes for length in document], dtype=np.int64)
    before = np.array([number for document in sizes for number in range(len(document))], dtype=np.int64)
    largest_first = sorted(
        split_documents(np.arange(len(lengths)), before), key=lambda numbers: (-len(numbers), -max(lengths[numbers]))
    )
    expected: list[list[NDArray[np.int64]]] = []
    for document in largest_first:
        together = [*expected[-1], document] if expected else []
        if together and (max(lengths[np.concatenate(together)]) + 1) * len(together) * width <= tokens:
            expected[-1] = together
        else:
            expected.append([document])
    batches = batch_documents(lengths, before, tokens, width)
    assert [batch.tolist() for batch in batches] == [np.concatenate(batch).tolist() for batch in expected]


def test_translating_leaves_training_unchanged() -> None:
    model = small_model(dropout=0.5).train()
    first, second = (translate_ids(model, random_sentences(5), DecodingSettings()) for _ in range(2))
    assert first == second  # no dropout
    assert model.training
    model(torch.tensor([[4, END]]), torch.tensor([[BEGIN]])).sum().backward()


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    """A run `small-1` in single precision, and a binarized corpus with the test sets `first` and `second`."""
    experiment = Experiment(tmp_path)
    torch.manual_seed(5)
    plan = small_plan(tying="none")
    model = build(plan, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY)
    save(experiment.model("small-1") / RUN_WEIGHTS, weights_of(model), model_metadata(plan, VOCABULARY, VOCABULARY))
    training, tests = (experiment.binarized / name for name in ("training", "tests"))
    for language, name in (("en", "word"), ("de", "unit")):
        units = ["<pad>", "<s>", "</s>", "<unk>", *(f"{name}{number}" for number in range(4, VOCABULARY))]
        write_lines(training / f"vocabulary.{language}.txt", units)
    names = {"source": "en", "target": "de", "train": "train", "validation": "first"}
    write_json(training / "corpus.json", names)
    write_json(tests / "corpus.json", {"tests": ["first", "second"], "contrastive": []})
    for folder, test, count in ((training, "first", 5), (tests, "second", 3)):
        sentences = random_sentences(count)
        np.save(folder / f"{test}.en.tokens.npy", np.concatenate(sentences))
        np.save(folder / f"{test}.en.offsets.npy", np.cumsum([0, *map(len, sentences)]))
    return experiment


@pytest.mark.usefixtures("run_folder")
def test_decode_writes_every_test_set(experiment: Experiment) -> None:
    settings = DecodingSettings(beam=3, n_best=2, maximum_length_offset=4)
    write_json(experiment.plan("small", "decoding"), asdict(settings))
    decode_run(experiment, "small", 1, device="cpu")
    decoded = experiment.decoded("small-1")
    assert sorted(path.name for path in decoded.iterdir()) == [
        "first.nbest.jsonl",
        "first.subwords.txt",
        "second.nbest.jsonl",
        "second.subwords.txt",
    ]
    best = read_lines(decoded / "first.subwords.txt")
    entries = [json.loads(line) for line in read_lines(decoded / "first.nbest.jsonl")]
    assert [(entry["line"], entry["rank"]) for entry in entries] == list(itertools.product(range(1, 6), (1, 2)))
    assert [entry["units"] for entry in entries if entry["rank"] == 1] == best
    assert {unit[:4] for line in best for unit in line.split()} <= {"unit", "<unk"}
    units = [re.sub("unit", "Unit", line, count=1) for line in read_lines(decoded / "second.subwords.txt")]
    assert len(units) == 3
    assert [*map(str.lower, units)] == [*map(str.lower, read_hypotheses(experiment.hypotheses("small-1"), "second"))]
    write_json(experiment.plan("small", "decoding"), asdict(DecodingSettings(beam=1)))
    decode_run(experiment, "small", 1, device="cpu")
    assert sorted(path.name for path in decoded.iterdir()) == ["first.subwords.txt", "second.subwords.txt"]


@pytest.mark.slow
@pytest.mark.usefixtures("run_folder")
def test_two_processes_of_torchrun_write_what_one_writes(experiment: Experiment) -> None:
    settings = DecodingSettings(beam=3, n_best=3, maximum_length_offset=4, batch_tokens=20)
    write_json(experiment.plan("small", "decoding"), asdict(settings))
    decode_run(experiment, "small", 1, device="cpu")
    expected = {path.name: path.read_bytes() for path in experiment.decoded("small-1").iterdir()}
    shutil.rmtree(experiment.decoded("small-1"))
    result = run_in_two_processes(experiment.folder, "decode", "small", 1)
    assert {path.name: path.read_bytes() for path in experiment.decoded("small-1").iterdir()} == expected
    assert len(read_hypotheses(experiment.hypotheses("small-1"), "second")) == 3
    # Only the first process prints, about its share.
    counts = re.findall(r"small-1 (\w+): (\d) sentences", result.stderr)
    assert [name for name, _ in counts] == ["first", "second"]
    assert result.stdout == ""
    assert all(0 < int(count) < whole for (_, count), whole in zip(counts, (5, 3), strict=True))


def test_a_copied_run_has_its_search_settings_in_its_folder(experiment: Experiment, run_folder: Path) -> None:
    text, plan = b"word5 word9 word4 word7\n", experiment.plan("small", "decoding")
    copy = shutil.copytree(run_folder, experiment.folder / "elsewhere")
    with pytest.raises(UserError, match=r"elsewhere: no search settings; copy metrics/plans/\S*/decoding\.json"):
        translated(copy, text)
    shutil.copy(plan, copy)
    assert translated(copy, text) == translated(run_folder, text)
    (experiment.folder / "best").symlink_to(run_folder)
    for same in (experiment.folder / "best", run_folder / ".." / run_folder.name):
        assert translated(same, text) == translated(run_folder, text)
    write_json(plan, asdict(DecodingSettings(maximum_length_ratio=0.0, maximum_length_offset=1)))
    assert translated(copy, text) != translated(run_folder, text)  # the copy keeps its own


def test_what_is_missing_is_named(experiment: Experiment, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"decoding\.json: no such file"):
        decode_run(experiment, "small", 1, device="cpu")
    write_json(experiment.plan("small", "decoding"), {"baem": 1})
    with pytest.raises(UserError, match=r"decoding\.json: .*baem"):
        decode_run(experiment, "small", 1, device="cpu")
    with pytest.raises(UserError, match="no trained run"):
        translate_text(tmp_path, io.BytesIO(), io.BytesIO(), beam=None, device="cpu")


@pytest.fixture
def run_folder(experiment: Experiment) -> Path:
    """The run `small-1`, whose text chain has lower-cased whole words."""
    folder = experiment.model("small-1")
    write_json(experiment.plan("small", "decoding"), asdict(DecodingSettings(maximum_length_offset=4)))
    side = asdict(SideSettings(truecase=False))
    moses = {role: {"language": language, **side} for role, language in (("source", "en"), ("target", "de"))}
    write_json(folder / "text" / "moses.json", moses)
    write_json(folder / "text" / "units.json", asdict(UnitSettings(kind="words")))
    for name in ("corpus.json", "vocabulary.en.txt", "vocabulary.de.txt"):
        shutil.copy(experiment.binarized / "training" / name, folder / "text" / name)
    return folder


def translated(folder: Path, text: bytes, beam: int | None = None) -> bytes:
    output = io.BytesIO()
    translate_text(folder, io.BytesIO(text), output, beam=beam, device="cpu")
    return output.getvalue()


def test_text_goes_through_the_whole_chain(run_folder: Path) -> None:
    text = "word5 word9 word4\n\n   \nword7\u2028word8\nnever seen".encode()
    lines = translated(run_folder, text).decode().split("\n")
    assert [bool(line) for line in lines] == [True, False, False, True, True, False]  # five lines, each ended
    assert {word for line in lines for word in re.findall(r"\w+", line)} <= {*map("unit{}".format, range(17)), "unk"}
    assert translated(run_folder, b"word5 word9 word4\n").decode() == lines[0] + "\n"
    assert translated(run_folder, b"word7 word16 word11\n").decode() != lines[0] + "\n"
    assert translated(run_folder, b"\xef\xbb\xbfword5 word9 word4\n").decode() == lines[0] + "\n"
    assert translated(run_folder, b"") == b""


@pytest.mark.parametrize("line", ["\u200b", "\u200b \ufeff\u2060\u200e", "\u00ad\x07"])
def test_an_invisible_line_gives_an_empty_line(run_folder: Path, line: str) -> None:
    assert translated(run_folder, f"{line}\n".encode()) == b"\n"
    assert translated(run_folder, f"{line}word5\n".encode()) != b"\n"


def test_a_line_that_is_too_long_is_left_empty_and_the_others_are_translated(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = small_plan(tying="none", positions="learned", maximum_positions=5)
    model = build(plan, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY)
    save(run_folder / RUN_WEIGHTS, weights_of(model), model_metadata(plan, VOCABULARY, VOCABULARY))
    first, too_long, last = b"word5 word9\n", b"word4 word6 word7 word8 word9\n", b"word4 word6 word7 word8\n"
    expected = translated(run_folder, first + b"\n" + last)
    output = io.BytesIO()
    with pytest.raises(UserError, match=r"^1 of 3 lines "):
        translate_text(run_folder, io.BytesIO(first + too_long + last), output, beam=None, device="cpu")
    assert [bool(line) for line in expected.splitlines()] == [True, False, True]
    assert output.getvalue() == expected
    assert "line 2 has 5 units; " in capsys.readouterr().err


def test_a_beam_given_by_hand_is_used(run_folder: Path) -> None:
    text = "\n".join(f"word{a} word{b} word{a}" for a in range(4, 17) for b in (5, 9)).encode()
    wide = translated(run_folder, text, beam=4)
    assert wide == translated(run_folder, text)
    assert wide != translated(run_folder, text, beam=1)
    with pytest.raises(UserError, match="--beam is 0"):
        translated(run_folder, text, beam=0)


def n_best_rows(folder: Path, text: bytes, n_best: int, **options: int | None) -> list[list[tuple[str, float]]]:
    """The hypotheses of each line with their scores."""
    output = io.BytesIO()
    translate_text(folder, io.BytesIO(text), output, **{"beam": None, "device": "cpu", "n_best": n_best, **options})
    rows = [line.split(" ||| ") for line in output.getvalue().decode().splitlines()]
    grouped = [list(of_line) for _, of_line in itertools.groupby(rows, key=lambda row: row[0])]
    assert [of_line[0][0] for of_line in grouped] == [str(number) for number in range(len(grouped))]
    return [[(hypothesis, float(score)) for _, hypothesis, score in of_line] for of_line in grouped]


def test_an_n_best_list_starts_with_the_translation_and_has_the_scores_of_the_model(run_folder: Path) -> None:
    lines = ["word5 word9 word4", "", *(f"word{a} word{b}" for a in range(4, 17) for b in (5, 9))]
    text = "\n".join(lines).encode()
    found = n_best_rows(run_folder, text, 3)
    assert [of_line[0][0] for of_line in found] == translated(run_folder, text).decode().splitlines()
    assert found[1] == [("", 0.0)]
    assert {len(of_line) for number, of_line in enumerate(found) if number != 1} == {3}
    corpus = BinarizedCorpus(run_folder / "text")
    model, pairs, scores = load_run(run_folder, CPU, corpus), [], []
    for line, of_line in zip(lines, found, strict=True):
        assert [score for _, score in of_line] == sorted((score for _, score in of_line), reverse=True)
        for hypothesis, score in of_line:
            if line and "unk" not in hypothesis:  # Moses makes other tokens of <unk>
                units = corpus.target_vocabulary.ids(hypothesis)
                pairs.append((np.array(corpus.source_vocabulary.ids(line)), np.array(units, dtype=np.int64)))
                scores.append(score * ((5 + len(units) + 1) / 6) ** 0.6)
    assert len(pairs) > 20
    assert scores == pytest.approx(score_pairs(model, *zip(*pairs, strict=True)), abs=1e-5)


def test_an_n_best_list_needs_the_beam_and_an_autoregressive_model(run_folder: Path) -> None:
    assert [len(of_line) for of_line in n_best_rows(run_folder, b"word5 word9\n", 6, beam=6)] == [6]
    for wrong in (0, 5):
        with pytest.raises(UserError, match=f"--nbest is {wrong}; it must be from 1 to the beam, 4"):
            n_best_rows(run_folder, b"word5\n", wrong)
    plan = small_plan(kind="masked", positions="learned", maximum_positions=16)
    model = build(plan, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY)
    save(run_folder / RUN_WEIGHTS, weights_of(model), model_metadata(plan, VOCABULARY, VOCABULARY))
    assert translated(run_folder, b"word5\n")
    with pytest.raises(UserError, match="masked model"):
        n_best_rows(run_folder, b"word5\n", 2)
