"""Contrastive sets: refused items, conversion to parallel text, and accuracies from a run's scores."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from measured import read_flat
from shell import run_in_two_processes
from small_models import VOCABULARY, small_model, step_by_step
from tiny_training import train
from torch.nn.functional import cross_entropy

from context_nmt.corpus.binarized import BinarizedCorpus, binarize
from context_nmt.corpus.contrastive import read_contrastive_set
from context_nmt.corpus.subwords import segment_corpus
from context_nmt.corpus.tokenizing import tokenize_corpus
from context_nmt.corpus.vocabulary import BEGIN, END
from context_nmt.decoding.forced_scoring import score_pairs
from context_nmt.files import UserError, read_lines, write_json, write_lines
from context_nmt.measures.contrastive import read_items, read_outcomes
from context_nmt.measures.given_translations import contrast_run, reference_rows
from context_nmt.measures.rows import NORMALIZED, SUMMED
from context_nmt.models.averaging import average_run
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import Processes
from context_nmt.settings.text import CorpusSettings, TextSettings, UnitSettings

ROOT = Path(__file__).parents[1]
CPU = torch.device("cpu")
HE = {"source": "It was old.", "right": "Er war alt.", "wrong": ["Sie war alt."], "categories": ["cross"]}
SHE = {"source": "It was old.", "right": "Sie war alt.", "wrong": ["Er war alt."], "categories": ["cross"]}


def write_set(path, *items):
    path.parent.mkdir(parents=True, exist_ok=True)
    write_lines(path, [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in items])
    return path


def test_each_pair_is_listed_once_with_contexts_after_items(tmp_path):
    table, door = ("I saw the table.", "Ich sah den Tisch."), ("I saw the door.", "Ich sah die Tür.")
    he, she = (HE["source"], HE["right"]), (SHE["source"], SHE["right"])  # the latter is a context, too
    first, second = (
        {"source": [source for source, _ in pairs], "target": [target for _, target in pairs]}
        for pairs in ([door, table], [table, she, door])
    )
    other = {"source": "It slept.", "right": "Es schlief.", "wrong": ["Er schlief.", "Sie schlief."]}
    items = (HE | {"mirror": 2, "context": first}, other, SHE | {"mirror": 0, "context": second})
    pairs, index = read_contrastive_set(write_set(tmp_path / "set.jsonl", *items))
    slept = [("It slept.", text) for text in ("Es schlief.", "Er schlief.", "Sie schlief.")]
    assert pairs == [he, she, *slept, door, table]
    assert index["items"] == [
        {"right": 0, "wrong": [1], "categories": ["cross"], "context": [5, 6]},
        {"right": 2, "wrong": [3, 4], "categories": [], "context": []},
        {"right": 1, "wrong": [0], "categories": ["cross"], "context": [6, 1, 5]},
    ]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[]", "not a JSON object"),
        ({key: value for key, value in HE.items() if key != "right"}, "right: this key is required"),
        (HE | {"rigth": "x"}, r"rigth: unknown key; did you mean 'right'\?"),
        (HE | {"context": {"sources": []}}, r"context\.sources: unknown key; did you mean 'source'\?"),
        (HE | {"wrong": []}, "wrong is empty"),
        (HE | {"wrong": ["Sie", "Sie"]}, r"wrong is \['Sie', 'Sie'\]"),
        (HE | {"wrong": ["Sie war alt.", "Er war alt."]}, "right is also in wrong: 'Er war alt.'"),
        (HE | {"wrong": ["Sie war\nalt."]}, r"wrong is 'Sie war\\nalt\.'; it must be one line of text"),
        (HE | {"source": " "}, "source is ' '; it must be one line of text"),
        ('{"source": "\\ud800", "right": "a", "wrong": ["b"]}', "invalid JSON: .* hex escape"),
        (HE | {"categories": ["a b"]}, "categories: 'a b' must be letters"),
        (HE | {"categories": ["all"]}, "categories: 'all' is reserved"),
        (HE | {"categories": ["x_normalized"]}, "must not end in '_normalized'"),
        (HE | {"categories": ["x", "x"]}, "categories is .*only once"),
        (HE | {"context": {"source": ["a"]}}, "context: source has 1 sentences and target 0"),
        (HE | {"context": {"source": ["a"], "target": ["b\nc"]}}, r"context: 'b\\nc' is not one line of text"),
        (HE | {"mirror": "0"}, "mirror: .*integer"),
        (HE | {"mirror": -1}, "mirror is -1"),
        (HE | {"mirror": 7}, "mirror is 7, but line 8 must"),
        (HE | {"mirror": 1}, "mirror is 1, but line 2 must"),  # itself
        (HE | {"mirror": 0}, "mirror is 0, but line 1 must"),  # which names no mirror
    ],
)
def test_an_invalid_item_is_refused_with_its_line(tmp_path, item, message):
    path = write_set(tmp_path / "set.jsonl", SHE, item)
    with pytest.raises(UserError, match=message) as refused:
        read_contrastive_set(path)
    assert str(refused.value).startswith(f"{path}: line 2")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "change", [{"source": "He was old."}, {"right": HE["right"], "wrong": HE["wrong"]}, {"wrong": ["Es war alt."]}]
)
def test_a_mirror_has_the_same_candidates_swapped_and_points_back(tmp_path, change):
    path = tmp_path / "set.jsonl"
    read_contrastive_set(write_set(path, HE | {"mirror": 1}, SHE | {"mirror": 0}))
    with pytest.raises(UserError, match=r"line 1: mirror is 1, but line 2 must"):
        read_contrastive_set(write_set(path, HE | {"mirror": 1}, SHE | {"mirror": 0} | change))
    with pytest.raises(UserError, match=r"set\.jsonl: the file is empty"):
        read_contrastive_set(write_set(path))


def text_stages(folder, *items, merges=20):
    """Tokenized, subwords and binarized folders of a toy corpus with the set `pronouns`."""
    corpus = CorpusSettings(name="toy", source="en", target="de", tests=("test",), contrastive=("pronouns",))
    for split in ("train", "valid", "test"):
        write_lines(folder / "raw" / f"{split}.en", ["Now it was old.", "The dog sees the it.", "We see him."])
        write_lines(folder / "raw" / f"{split}.de", ["Nun war er alt.", "Jetzt ist sie es.", "Wir sehen ihn."])
    write_set(folder / "raw" / "pronouns.en-de.jsonl", *items)
    tokenized, subwords, binarized = (folder / "runs" / name for name in ("tokenized", "subwords", "binarized"))
    tokenize_corpus(folder / "raw", tokenized, corpus, TextSettings())
    segment_corpus(tokenized, subwords, corpus, UnitSettings(merges=merges))
    binarize(subwords, binarized, corpus, UnitSettings(merges=merges))
    return tokenized, subwords, binarized


def test_candidates_go_the_way_of_all_text(tmp_path):
    tokenized, _, binarized = text_stages(tmp_path, HE | {"mirror": 1}, SHE | {"mirror": 0})
    assert read_lines(tokenized / "pronouns.en") == ["it was old ."] * 2
    assert read_lines(tokenized / "pronouns.de") == ["er war alt .", "sie war alt ."]
    assert not list(tokenized.glob("pronouns.*.cased"))
    corpus = BinarizedCorpus(binarized)
    assert corpus.contrastive == ("pronouns",)
    sources, targets = corpus.parallel("pronouns")
    assert len(sources) == 2
    assert corpus.target_vocabulary.text(targets[1]).replace("@@ ", "") == "sie war alt ."
    with pytest.raises(UserError, match=r"pronouns\.en-de\.jsonl: line 1: wrong is empty"):
        text_stages(tmp_path / "wrong", HE | {"wrong": []})
    assert not (tmp_path / "wrong/runs/tokenized").exists()


def random_pairs(count, seed, longest=7):
    random = np.random.default_rng(seed)
    lengths = random.integers(0, longest, (count, 2))
    pairs = [[random.integers(BEGIN + 2, VOCABULARY, length).astype(np.uint16) for length in pair] for pair in lengths]
    return [source for source, _ in pairs], [target for _, target in pairs]


def test_forced_scores_equal_the_steps_of_decoding():
    model = small_model()
    sources, targets = random_pairs(40, 1)
    scores = score_pairs(model, sources, targets)
    for source, target, score in zip(sources, targets, scores, strict=True):
        inputs = torch.tensor([[BEGIN, *target.tolist()]])
        with torch.inference_mode():
            logits = step_by_step(model, torch.tensor([[*source.tolist(), END]]), inputs)[0]
        steps = logits.log_softmax(-1)[range(len(target) + 1), [*target.tolist(), END]]
        assert score == pytest.approx(float(steps.sum()), abs=1e-9)
    assert len(set(scores)) > 30


def test_scores_depend_neither_on_the_batch_nor_on_the_workers_and_equal_pairs_tie(monkeypatch):
    model = small_model().float()
    sources, targets = random_pairs(300, 2, longest=20)
    together = score_pairs(model, sources, targets, processes=Processes(workers=1))
    assert score_pairs(model, sources, targets, processes=Processes(workers=2)) == together
    monkeypatch.setattr("context_nmt.decoding.forced_scoring.BATCH_UNITS", 1)
    assert score_pairs(model, sources, targets) == pytest.approx(together, abs=1e-4)
    sources, targets = random_pairs(60, 3, longest=12)
    order = (np.random.default_rng(4).permutation(120) % 60).tolist()
    monkeypatch.setattr("context_nmt.decoding.forced_scoring.BATCH_UNITS", 40)
    texts = ([side[number] for number in order] for side in (sources, targets))
    assert len(set(zip(order, score_pairs(model, *texts), strict=True))) == 60


def test_what_is_longer_than_learned_positions_is_refused():
    model = small_model(positions="learned", maximum_positions=6)
    short, long = np.array([4] * 5), np.array([4] * 6)
    assert len(score_pairs(model, [short], [short])) == 1
    with pytest.raises(UserError, match=r"the source of pair 2 has 6 units.*model\.maximum_positions 6"):
        score_pairs(model, [short, long], [short, short])
    with pytest.raises(UserError, match=r"the target of pair 1 has 6 units"):
        score_pairs(model, [short], [long])


def judged(tmp_path, items, scores):
    """The rows of a set, given scores of its pairs by metric."""
    items = [{"context": [], **item} for item in items]
    write_json(tmp_path / "set.items.json", {"sha256": "0123456789abcdef" * 4, "items": items})
    read = read_items(tmp_path / "set.items.json", len(scores[SUMMED]))
    of_pairs = {metric: {((), number): score for number, score in enumerate(of)} for metric, of in scores.items()}
    return list(read.rows("set", {metric: read.margins(pair_scores) for metric, pair_scores in of_pairs.items()}))


def test_an_item_counts_if_it_beats_every_wrong_one(tmp_path):
    items = [
        {"right": 0, "wrong": [1, 2], "categories": ["a"]},  # beats both
        {"right": 1, "wrong": [0, 2], "categories": ["a", "b"]},  # beats one of two
        {"right": 3, "wrong": [4], "categories": ["a", "b"]},  # a tie
        {"right": 4, "wrong": [2], "categories": []},
    ]
    scores = {SUMMED: [-1.0, -2.0, -3.0, -4.0, -4.0], NORMALIZED: [-1.0] * 5}
    rows = {(row.measure.metric, row.measure.tag): row for row in judged(tmp_path, items, scores)}
    assert {name: row.value for name, row in rows.items()} == {
        (SUMMED, "a"): 50.0,
        (SUMMED, "all"): 37.5,
        (SUMMED, "b"): 25.0,
        **{(NORMALIZED, category): 50.0 for category in ("a", "all", "b")},
        ("items", "a"): 3,
        ("items", "all"): 4,
        ("items", "b"): 2,
    }
    signature = "items:2|log-probability:{}|ties:0.5|set:0123456789abcdef"
    assert rows[SUMMED, "b"].signature == signature.format("sum")
    assert rows[NORMALIZED, "b"].signature == signature.format("mean-over-units")


@given(st.lists(st.tuples(st.floats(-99, 0), st.floats(-99, 0)), min_size=1, max_size=30))
def test_mirrors_give_exactly_one_half(tmp_path_factory, scores):
    items = [
        {"right": 2 * number + right, "wrong": [2 * number + 1 - right], "categories": ["cross"]}
        for number in range(len(scores))
        for right in (0, 1)
    ]
    summed = [score for pair in scores for score in pair]
    rows = judged(tmp_path_factory.mktemp("set"), items, {SUMMED: summed})
    assert [row.value for row in rows if (row.measure.metric, row.measure.tag) == (SUMMED, "cross")] == [50.0]


@pytest.mark.parametrize(("context", "pairs"), [([], 3), ([3, 4], 5), ([1], 3)])
def test_the_pairs_of_another_set_are_refused(tmp_path, context, pairs):
    index = tmp_path / "set.items.json"
    items = [{"right": 0, "wrong": [2], "categories": [], "context": context}]
    write_json(index, {"sha256": "0123456789abcdef" * 4, "items": items})
    assert read_items(index, pairs).candidates() == [(tuple(context), 0), (tuple(context), 2)]
    for other in (pairs - 1, pairs + 1):
        message = rf"set\.items\.json: has {pairs} pairs, but there are {other}; run the text stages again"
        with pytest.raises(UserError, match=message):
            read_items(index, other)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The run `plain-1`, which has learnt to copy digits, and the set `copies`."""
    options = {"maximum_updates": 300, "validate_every": 300, "batch_tokens": 512}
    experiment = train(tmp_path_factory.mktemp("contrast"), longest=4, pairs=1500, training=options)
    average_run(experiment, "plain", 1)
    return experiment


def add_set(experiment):
    """The set `copies`: three wrong last digits for each two, and a mirrored pair that a copy does not tell apart."""
    items = [
        {
            "source": f"{a} {b}",
            "right": f"{a} {b}",
            "wrong": [f"{a} {(b + more) % 10}" for more in (1, 3, 5)],
            "categories": ["last"],
            "context": {"source": [f"{b} {a} {b}"], "target": [f"{a} {b} {a}"]},
        }
        for a in range(10)
        for b in range(10)
    ]
    items += [
        {"source": "1 2", "right": right, "wrong": [wrong], "categories": ["mirrored"], "mirror": mirror}
        for right, wrong, mirror in (("1 3", "1 4", 101), ("1 4", "1 3", 100))
    ]
    pairs, index = read_contrastive_set(write_set(experiment.folder / "copies.jsonl", *items))
    write_json(experiment.tokenized / "copies.items.json", index)
    for language, texts in zip(("xx", "yy"), zip(*pairs, strict=True), strict=True):
        write_lines(experiment.subwords / f"copies.{language}", texts)
    corpus = replace(experiment.settings.corpus, contrastive=("copies",))
    binarize(experiment.subwords, experiment.binarized, corpus, experiment.settings.units)


@pytest.mark.slow
def test_a_run_without_sets_has_only_the_loss_on_references(trained):
    contrast_run(trained, "plain", 1, device="cpu")
    corpus = BinarizedCorpus(trained.binarized)
    assert {test: set(of) for test, of in read_flat(trained.contrastive("plain-1")).items()} == {
        test: {"nll"} for test in corpus.tests
    }
    assert list(trained.contrastive_margins("plain-1").iterdir()) == []
    assert read_outcomes(trained.contrastive_outcomes("plain-1")) == {}


@pytest.mark.slow
@torch.no_grad()
def test_the_loss_on_references_is_the_mean_over_units_and_ends(trained):
    corpus = BinarizedCorpus(trained.binarized)
    model, losses = load_run(trained.model("plain-1"), CPU, corpus).eval(), list[float]()
    for source, target in zip(*corpus.parallel(corpus.tests[0]), strict=True):
        states = model(torch.tensor([[*source.tolist(), END]]), torch.tensor([[BEGIN, *target.tolist()]]))
        losses += cross_entropy(
            model.output(states[0]), torch.tensor([*target.tolist(), END]), reduction="none"
        ).tolist()
    (row,) = reference_rows(model, corpus, corpus.tests[0])
    assert row.value == pytest.approx(np.mean(losses), abs=1e-4)
    size = len(corpus.target_vocabulary)
    assert row.signature.startswith(f"likelihood|nats-per-unit-and-END|units:{size}|vocabulary:")
    assert list(reference_rows(small_model(positions="learned", maximum_positions=3), corpus, corpus.tests[0])) == []


@pytest.mark.slow
def test_a_run_is_judged_and_two_processes_of_torchrun_write_the_same(trained):
    add_set(trained)
    contrast_run(trained, "plain", 1, device="cpu")
    accuracies = read_flat(trained.contrastive("plain-1"))["copies"]
    assert accuracies["copies_last"]["score"] > 90  # 100 with five seeds
    assert (accuracies["items_all_text"]["score"], accuracies["copies_mirrored"]["score"]) == (102, 50.0)
    table = trained.contrastive_margins("plain-1") / "copies.tsv"
    header, *rows = [line.split("\t") for line in read_lines(table)]
    assert header == ["line", "outcome", "margin", "normalized_outcome", "normalized_margin"]
    assert [row[0] for row in rows] == [str(number) for number in range(1, 103)]
    assert sum(float(row[1]) for row in rows[:100]) == pytest.approx(accuracies["copies_last"]["score"])
    assert all((float(row[2]) > 0) == (row[1] == "1") for row in rows)
    assert float(rows[100][2]) == -float(rows[101][2]) != 0
    assert all(float(row[4]) == pytest.approx(float(row[2]) / 3, rel=1e-4) for row in rows)  # two digits and END
    digest, outcomes = read_outcomes(trained.contrastive_outcomes("plain-1"))["copies"]
    assert digest == read_items(trained.tokenized / "copies.items.json").sha256
    assert outcomes == {SUMMED: [float(row[1]) for row in rows], NORMALIZED: [float(row[3]) for row in rows]}
    written = [path.read_bytes() for path in (trained.contrastive("plain-1"), table)]
    table.unlink()
    result = run_in_two_processes(trained.folder, "contrast", "plain", 1)
    assert [path.read_bytes() for path in (trained.contrastive("plain-1"), table)] == written
    (shared,) = re.findall(r"plain-1 copies: (\d+) sentences", result.stderr)  # the first one speaks, of its own part
    assert 0 < int(shared) < 401
