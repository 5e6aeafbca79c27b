"""The measurement of the text stages' growth: its text, what it runs and what it reports; sizes here are tiny."""

from functools import partial

import pytest

from benchmarks import growth, machine, report
from context_nmt.files import read_lines


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(growth, "RANKS", 5000)
    monkeypatch.setattr(growth, "MERGES", 50)
    monkeypatch.setattr(growth, "VALIDATION_PAIRS", 5)


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
        made = growth.lexicon(language)
        assert len(made) == len(set(made)) == 300_000


@pytest.mark.slow
def test_the_stages_of_an_experiment_are_measured_and_nothing_stays(tiny, tmp_path):
    tables = growth.growth(60, tmp_path / "experiment").tables
    for title in (growth.SECONDS, growth.CPU, growth.MEMORY):
        assert list(tables[title]) == ["tokenize, 60 pairs", "bpe, 60 pairs"]
        assert min(tables[title].values()) > 0
    assert max(tables[growth.MEMORY].values()) < 10  # GB
    assert tables[growth.WORDS]["60 pairs"] > 60
    assert not (tmp_path / "experiment").exists()


def test_sizes_of_several_runs_are_kept_with_their_picture(tmp_path, monkeypatch):
    here = {"commit": "0e"} | machine.describe()
    measured = {2000: (23.0, 4.001), 1000: (10.0, 4.0)}

    def made_up(pairs, _):
        seconds, memory = measured[pairs]
        rows = [f"{stage}, {pairs:,} pairs" for stage in growth.TEXT_STAGES]
        values = {growth.SECONDS: round(2 * seconds), growth.CPU: seconds, growth.MEMORY: memory}
        tables = {title: dict.fromkeys(rows, value) for title, value in values.items()}
        words = {growth.WORDS: {f"{pairs:,} pairs": pairs // 10}, growth.PER_PAIR: {}}
        return report.Part(growth.TITLE, tables | words, picture="growth")

    monkeypatch.setattr(growth, "growth", made_up)
    monkeypatch.setattr(growth.machine, "describe", lambda: here)
    monkeypatch.setattr(growth.report, "keep", partial(report.keep, folder=tmp_path))
    monkeypatch.setattr(growth.report, "with_earlier", partial(report.with_earlier, folder=tmp_path))
    growth.main([2000, 1000])
    lines = read_lines(tmp_path / "README.md")
    row, *rows = [line for line in lines if line.startswith(("| tokenize", "| bpe"))]
    assert row == "| tokenize, 1,000 pairs | 20 | 10 | 4.00 | 1.00 |"
    assert rows == [
        "| tokenize, 2,000 pairs | 46 | 23 | 4.00 **missed** | 1.15 |",
        "| bpe, 1,000 pairs | 20 | 10 | 4.00 | 1.00 |",
        "| bpe, 2,000 pairs | 46 | 23 | 4.00 **missed** | 1.15 |",
    ]
    assert "| 2,000 pairs | 200 |" in lines
    picture = tmp_path / f"results/{machine.file_name(here)}-growth.svg"
    assert any(f"]({picture.relative_to(tmp_path)})" in line for line in lines)
    assert picture.read_bytes().startswith(b"<?xml")
