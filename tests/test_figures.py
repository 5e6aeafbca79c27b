"""Figures: complete, free of dates and random names, readable without colour."""

import re
import xml.etree.ElementTree as ElementTree

import matplotlib
import pytest
from made_up_experiment import PARAMETERS, evaluate_all, make_experiment
from shown import texts

from context_nmt.files import write_lines
from context_nmt.report.analyses import draw_analyses
from context_nmt.report.pictures import draw_learning_curves
from context_nmt.results.reading import read_results

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return read_results(evaluate_all(make_experiment(tmp_path_factory.mktemp("experiment"))))


def legend_of(picture):
    """The strokes of the lines in the legend of an SVG, and the shapes of its markers."""
    text = picture.read_text(encoding="utf-8")
    draw_shared_legend, shapes = (
        text.split('id="legend_1"')[1],
        dict(re.findall(r'<path id="(m\w+)" d="([^"]+)"', text)),
    )
    dashes = re.findall(r'style="fill: none; (?:stroke-dasharray: ([^;]+); )?', draw_shared_legend)
    return dashes, [shapes[name] for name in re.findall(r'<use xlink:href="#(m\w+)"', draw_shared_legend)]


def test_lines_differ_without_colour(results, tmp_path):
    """Systems in learning curves; test sets in analyses, with the baseline in one of them."""
    draw_learning_curves(results, tmp_path / "curves.svg")
    dashes, markers = legend_of(tmp_path / "curves.svg")
    assert len(set(dashes)) == len(set(markers)) == 4
    assert draw_analyses(results, tmp_path) == ["locality_entropy", "local_share", "ngram_accuracy"]
    for name, lines in (("locality_entropy", 3), ("ngram_accuracy", 2)):
        _, markers = legend_of(tmp_path / f"{name}.svg")
        assert len(markers) == len(set(markers)) == lines


def test_of_many_variants_the_baselines_have_lines_of_their_own(tmp_path):
    variants = {f"v{number}": {} for number in range(12)} | {"end": {"baseline": "v3"}}
    experiment = make_experiment(tmp_path, variants=variants, train={"bitext": list(variants)}, focus="v7", seeds=[1])
    draw_learning_curves(read_results(experiment), tmp_path / "curves.svg")
    found = texts(tmp_path / "curves.svg")
    assert [text for text in found if text in variants] == ["v3"]
    assert found.count("12 other systems") == 1


@pytest.mark.parametrize("name", ["curves", "analyses"])
def test_same_bytes_whatever_the_user_s_settings(results, tmp_path, name):
    def draw(path):
        if name == "analyses":
            draw_analyses(results, path.with_suffix(""))
            return (path.with_suffix("") / "locality_entropy.svg").read_bytes()
        draw_learning_curves(results, path)
        return path.read_bytes()

    before = draw(tmp_path / "first.svg")
    with matplotlib.rc_context({"svg.hashsalt": None, "font.size": 20, "svg.fonttype": "none"}):
        assert draw(tmp_path / "second.svg") == before
        assert matplotlib.rcParams["font.size"] == 20
    ElementTree.fromstring(before)
    assert b"dc:date" not in before


def test_runs_without_a_curve_are_left_out_and_without_any_there_is_no_picture(tmp_path):
    experiment = make_experiment(tmp_path, seeds=[1])
    experiment.curve("gauss-1").unlink()
    empty = ["update,train_nll,valid_perplexity", "100,,"]
    write_lines(experiment.curve("alone-1"), empty)
    draw_learning_curves(read_results(experiment), tmp_path / "curves.svg")
    found = texts(tmp_path / "curves.svg")
    assert {"Validation perplexity", "Transformer", "again"} <= set(found)
    assert "Validation BLEU (greedy)" not in found  # only those two had it: what is left gets no panel for it
    (tmp_path / "curves.svg").unlink()
    for variant in PARAMETERS["variants"]:
        write_lines(experiment.curve(f"{variant}-1"), empty)
    draw_learning_curves(read_results(experiment), tmp_path / "curves.svg")
    assert not (tmp_path / "curves.svg").exists()
