"""The measurement of the text stages' growth: its text, what it runs and what it reports; sizes here are tiny."""

import pytest

from benchmarks import growth, machine, page, report
from benchmarks.pictures import draw_growth
from context_nmt.files import read_lines


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(growth, "RANKS", 5000)
    monkeypatch.setattr(growth, "MERGES", 50)
    monkeypatch.setattr(growth, "TEST", 5)


def test_a_longer_text_begins_like_a_shorter_one_and_has_more_words_and_the_other_side_similar_lengths(tiny):
    longer, shorter, other = (list(growth.sentences(*given, 1)) for given in (("de", 400), ("de", 50), ("en", 400)))
    assert longer[:50] == shorter
    assert shorter != list(growth.sentences("de", 50, 2))
    distinct = [len({word for line in text for word in line.split()}) for text in (longer, shorter)]
    assert distinct[0] > 1.5 * distinct[1]
    lengths = [[len(line.split()) for line in side] for side in (other, longer)]
    assert len(lengths[0]) == len(lengths[1]) == 400
    assert len(set(lengths[0])) > 10
    assert all(0.4 < source / target < 2.5 for source, target in zip(*lengths, strict=True))


def test_words_are_distinct(monkeypatch):
    monkeypatch.setattr(growth, "RANKS", 300_000)
    for language in growth.SYLLABLES:
        made = growth.words(language)
        assert len(made) == len(set(made)) == 300_000


@pytest.mark.slow
def test_the_stages_of_an_experiment_are_measured_and_nothing_stays(tiny, tmp_path):
    measured = growth.growth(60, tmp_path / "experiment")
    assert list(measured["stages"]) == ["tokenize", "bpe"]
    assert measured["pairs"] == 60
    assert measured["distinct_words"] > 60
    for stage in measured["stages"].values():
        assert set(stage) == {"seconds", "cpu_seconds", "memory_mb"}
        assert min(stage.values()) > 0
    assert not (tmp_path / "experiment").exists()


def test_sizes_of_several_runs_are_kept_with_their_picture(tmp_path):
    here = machine.describe(())
    picture = tmp_path / page.picture(here, "growth")
    for pairs, (seconds, memory) in {1000: (10.0, 4000), 2000: (23.0, 4001)}.items():
        stage = {"seconds": 2 * seconds, "cpu_seconds": seconds, "memory_mb": memory}
        stages = {"tokenize": stage, "bpe": stage}
        values = {"pairs": pairs, "distinct_words": pairs // 10, "stages": stages, "machine": here}
        draw_growth(report.keep_other(here, "growth", str(pairs), values, tmp_path), picture)
    lines = read_lines(tmp_path / "README.md")
    assert [line for line in lines if line.startswith("| bpe |")] == [
        "| bpe | 1,000 | 20 | 10 | 1.00 | 4.00 |",
        "| bpe | 2,000 | 46 | 23 | 1.15 | 4.00 **missed** |",
    ]
    assert any(f"]({picture.relative_to(tmp_path)})" in line for line in lines)
    assert picture.read_bytes().startswith(b"<?xml")
