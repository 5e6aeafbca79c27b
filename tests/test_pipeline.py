"""The whole pipeline through DVC, on a toy language, in a repository of its own.

The tests of this file share one repository and run in their order, each from the state that the one before it left.
"""

import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from shell import environment

from context_nmt.code_closure import UNHASHED_MODULES, closure

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.heavy

PARAMETERS = """\
root: .
launch: {train: python, decode: env UNUSED=1 python}
download: [spare]
corpus: {name: toy, source: xx, target: yy, train: train, validation: valid, tests: [valid, test], contrastive: [verbs]}
text: {}
units: {kind: bpe, joint: true, merges: 30}
model: {width: 16, feed_forward_width: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, dropout: 0.1}
training:
  batch_tokens: 1024
  maximum_updates: 30
  schedule: {kind: inverse_square_root, warmup: 10, peak_rate: 0.01}
  validate_every: 15
  keep_last: 2
averaging: {count: 2}
decoding: {beam: 2}
significance: {resamples: 20, minimum_ceiling: 0}  # sentences start in lower case
variants:
  plain: {}
  small: {model: {feed_forward_width: 8}, training: {validation_bleu: true}, baseline: plain}
  student:
    model: {kind: masked, positions: learned, maximum_positions: 32}
    training: {maximum_sentence_length: 30}
    slots: {cross_attention: {mechanism: context_aware_cross_attention, window: 1}}
    decoding: {iterations: 3, length_beam: 2}
    baseline: plain
  reader:
    slots: {encoder_output: {mechanism: hierarchical_attention, sentences: 1}}
    baseline: plain
train: {bitext: [plain, small], teachers: [plain], distilled: [student], document: [reader], document_start: plain,
  continued: []}
rescored: [student]
external: {person: {baseline: plain}}
probing:
  sentences: [small]
  tasks: tasks
  words: [plain]
  sentence_classifier: {epochs: 2}
  word_classifier: {epochs: 1}
seeds: [1]
focus: plain
"""

CATALOGUE = """\
generated: {}
corpora:
  spare:
    format: text
    licence: free
    homepage: none
    files:
      - {to: train.xx, url: "https://example.org/train.xx", sha256: null}
"""

NOUNS = {"balo": "kerut", "dimo": "lasit", "fenu": "marot", "gira": "nevut", "hosa": "pirat"}
TASK = [(split, length) for split in ("tr", "va", "te") for length in (1, 2)]
VERBS = {"tak": "vidan", "sul": "woren", "rem": "xelan"}


def toy_pairs(count, seed):
    """Sentences `noun verb noun` and their translations, which have the verb at the end."""
    choose = random.Random(seed).choice
    for _ in range(count):
        subject, verb, thing = choose(list(NOUNS)), choose(list(VERBS)), choose(list(NOUNS))
        yield f"{subject} {verb} {thing} .", f"{NOUNS[subject]} {NOUNS[thing]} {VERBS[verb]} ."


def write_corpus(folder):
    folder.mkdir(parents=True)
    for seed, (split, count) in enumerate({"train": 300, "valid": 20, "test": 20, "later": 5}.items()):
        sources, targets = zip(*toy_pairs(count, seed), strict=True)
        (folder / f"{split}.xx").write_text("\n".join(sources) + "\n")
        (folder / f"{split}.yy").write_text("\n".join(targets) + "\n")
        (folder / f"{split}.documents").write_text("".join(f"{first}\n" for first in range(0, count, 3)))
    tasks = folder.parent / "tasks"
    tasks.mkdir()
    (tasks / "sentence_length.txt").write_text(
        "".join(f"{split}\t{length}\t{'balo ' * length}.\n" for split, length in TASK)
    )
    (folder / "verbs.xx-yy.jsonl").write_text("".join(json.dumps(item) + "\n" for item in contrastive_items()))


def contrastive_items():
    """Each translation beside one with another verb; and, mirrored, two wrong translations of the same sentence."""
    for source, right in toy_pairs(20, 9):
        wrong = right.replace("vidan", "woren") if "vidan" in right else re.sub("woren|xelan", "vidan", right)
        yield {"source": source, "right": right, "wrong": [wrong], "categories": ["plain"]}
    for number in range(20, 30):
        either, other = (f"kerut {noun} vidan ." for noun in ("lasit", "marot")[:: (-1) ** number])
        mirror = number ^ 1
        source = f"balo tak {list(NOUNS)[number // 2 % 5]} ."
        yield {"source": source, "right": either, "wrong": [other], "categories": ["mirrored"], "mirror": mirror}


class Project:
    """A git and DVC repository with its own cache."""

    def __init__(self, folder, environment):
        self.folder, self.environment = folder, environment

    def run(self, *command):
        return self.start(*command)()

    def start(self, *command):
        """A function that waits for the command and returns what it printed."""
        files = ExitStack()
        output, errors = (files.enter_context(tempfile.TemporaryFile("w+")) for _ in range(2))  # noqa: SIM115
        process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=output, stderr=errors)

        def finish():  # files, not pipes: a process that the command leaves behind may hold these for ever
            with files:
                try:
                    status = process.wait(timeout=1800)
                finally:
                    process.kill()
                texts = [file.seek(0) or file.read() for file in (output, errors)]
            assert status == 0, "\n".join([" ".join(command), *texts])
            return texts[0]

        return finish

    def commit(self, message):
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message", message)

    def repro(self, *options):
        """The stages that ran in `dvc repro`, which here writes dvc.lock faster, as in `make repro`."""
        return set(ran(self.run(sys.executable, "-m", "context_nmt.pipeline.dvc", "repro", *options)))

    def edit(self, old, new):
        path = self.folder / "params.yaml"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    def change(self, path):
        """Make a file of the library do something else that nobody notices."""
        path = self.folder / "src/context_nmt" / path
        path.write_text(path.read_text() + "\n\nUNUSED = 1\n")

    def clone(self, folder):
        self.run("git", "clone", "--quiet", str(self.folder), str(folder))
        return Project(folder, self.environment)

    def lock(self):
        return yaml.safe_load((self.folder / "dvc.lock").read_text())

    def rows(self, name):
        with (self.folder / name).open(newline="") as file:
            return list(csv.DictReader(file))

    def json(self, path):
        return json.loads((self.folder / path).read_text())

    def declared(self, name):
        """What DVC knows that a stage reads or writes, with the code that is noted in what it depends on."""
        lock = yaml.safe_load((self.folder / ("src/dvc.lock" if name == CODE else "dvc.lock")).read_text())
        stage = lock["stages"][name.rpartition(":")[2]]
        inside = Path("src" if name == CODE else "")
        paths = {os.path.normpath(inside / one["path"]) for one in [*stage.get("deps", []), *stage["outs"]]}
        paths |= set(stage.get("params", {}))
        paths |= {folder for path in paths for folder in noted_translations(self.folder / path)}
        return paths | {file for path in paths for file in noted_code(self.folder, Path(path))}


def noted_translations(path):
    """The files that stand for runs/pairs/VARIANT.json, which has their hashes."""
    if path.parent.name == "pairs":
        pairs = json.loads(path.read_text())
        for variant in filter(None, (path.stem, pairs["baseline"])):
            yield from (f"metrics/hypotheses/{variant}-{seed}.zip" for seed in pairs["runs"])
            yield from (f"metrics/contrastive/{variant}-{seed}.json" for seed in pairs["runs"])


def noted_code(root, path):
    """The files that stand for a dependency: src/code/STAGE.json, or the modules that a plan loads by name."""
    modules = []
    if path.parent == Path("src/code"):
        noted = json.loads((root / path).read_text())
        if path.name != "loaded_by_name.json":
            return [*noted, "stages/_run.py", *(f"src/context_nmt/{name}" for name in UNHASHED_MODULES)]
        modules = list(noted)
    elif path.is_relative_to("metrics/plans"):
        plans = sorted((root / path).rglob("*.json")) if (root / path).is_dir() else [root / path]
        values = [json.loads(plan.read_text()) for plan in plans]
        values += [
            model
            for plan, models in zip(plans, values, strict=True)
            if plan.name == "models.json"
            for model in models.values()
        ]
        modules = [module for value in values for module in value.get("code", {})]
    files = [root / "src" / f"{module.replace('.', '/')}.py" for module in modules]
    return list(closure(root, *files))


def read_opened(log):
    """Stage -> the project's files that its processes opened."""
    opened = {}
    for path in log.iterdir():
        stage = path.name.rpartition(" ")[0].replace("|", "/")
        opened.setdefault(stage, set()).update(path.read_text().splitlines())
    return opened


def undeclared(project, name, declared):
    """What a stage opened and did not declare: files that are not there any more were its own scratch.

    Locks are empty, so nothing can be read from them. Libraries look for plugins in the folder that a build leaves.
    """
    places = (*(f"{path}/" for path in declared), "src/context_nmt.egg-info/")
    return {
        path
        for path in project.opened[name]
        if path not in declared
        and not path.startswith((*places, "runs/scratch/"))
        and (project.folder / path).is_file()
        and ((project.folder / path).stat().st_size or not path.endswith(".lock"))
    }


def ran(output):
    """The stages that ran, in their order."""
    return [name.removeprefix("dvc.yaml:") for name in re.findall(r"^Running stage '(.*)':", output, re.MULTILINE)]


VARIANTS = ("plain", "small", "student", "reader")
TRAIN = {"student": "train_distilled", "reader": "train_document"}  # others: train
CODE = "src/dvc.yaml:code"
FIRST = {"plan", "download@spare", "tokenize", "bpe"}
LAST = {"pair", "describe", "report", "focus"}
TAUGHT = {"distill@plain-1", "rescore@student-1-plain"}
PROBED = {"probe_sentences@small-1", "probe_words@plain-1"}
EXTERNAL = {"import_translations@person-1", "significance_external@person"}


def of_run(*variants):
    """The stages that read a run."""
    stages = ("average", "decode", "contrast", "analyse")
    return {f"{stage}@{name}-1" for name in variants for stage in (TRAIN.get(name, "train"), *stages)}


def of_text(*variants):
    """The stages that read translations alone."""
    return {f"significance@{name}" for name in variants}


def trainings(stages):
    return {stage for stage in stages if stage.startswith("train")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pipeline")


@pytest.fixture(scope="module")
def project(folder, warm):
    return start_project(folder, PARAMETERS, **warm)


def start_project(folder, parameters, **variables):
    """The project's code and dvc.yaml with the toy corpus, committed, nothing run."""
    (folder / "home").mkdir()
    made, mirror = folder / "project", folder / "mirror/spare"
    mirror.mkdir(parents=True)
    (mirror / "train.xx").write_text("balo\n")
    own = {"OMP_NUM_THREADS": "1", "PYTHONPATH": "", "DATA_MIRROR": str(mirror.parent)}
    skip = shutil.ignore_patterns("__pycache__", "cache", "tmp", "config.local", "code", "dvc.lock")
    for name in ("src", "stages", ".dvc"):
        shutil.copytree(ROOT / name, made / name, ignore=skip)
    for name in ("dvc.yaml", ".dvcignore", ".gitignore", ".gitattributes", "benchmarks/variants.json"):
        (made / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, made / name)
    (made / "data").mkdir()
    (made / "data/params.yaml").write_text(CATALOGUE)
    (made / "params.yaml").write_text(parameters)
    write_corpus(made / "data" / "toy")
    (made / "external/person").mkdir(parents=True)
    for split in ("valid", "test", "later"):
        shutil.copy(made / f"data/toy/{split}.yy", made / f"external/person/{split}.txt")
    project = Project(made, environment(folder / "home", **own | variables))
    project.run("git", "init", "--quiet", "--initial-branch", "main")
    project.commit("start")
    return project


@pytest.fixture(scope="module")
def finished(project, folder):
    """The project after one `dvc repro`, which notes what stages open, committed; and a clone made before it."""
    project.before = project.clone(folder / "before")
    log = folder / "opened"
    log.mkdir()
    watched = {"OPENED": str(log), "WATCHED": str(project.folder)}
    project.order = ran(Project(project.folder, project.environment | watched).run("dvc", "repro"))
    project.opened = read_opened(log)
    project.commit("results")
    return project


def test_one_command_runs_every_stage_and_leaves_the_tables(finished):
    runs = of_run(*VARIANTS) | of_text(*VARIANTS)
    assert set(finished.order) == {CODE} | FIRST | runs | TAUGHT | PROBED | EXTERNAL | LAST
    results = finished.json("metrics/results.json")
    assert results["small"]["test"]["sacrebleu"]["seeds"] == 1
    assert results["small"]["model"]["parameters"] < results["plain"]["model"]["parameters"]
    assert results["small"]["verbs"]["verbs_mirrored"]["mean"] == 50.0
    assert set(results["small"]["verbs"]) == {
        f"verbs_{category}{ending}" for category in ("all", "mirrored", "plain") for ending in ("", "_normalized")
    }
    assert "plain" in (finished.folder / "metrics/results.md").read_text()
    probes = (finished.folder / "reports/pages/probes.md").read_text()
    assert "| small | " in probes
    assert "| plain: encoder | " in probes
    scores = finished.rows("metrics/scores/plain/1.csv")
    assert {row["test_set"] for row in scores if row["metric"] == "cohesion"} == {"valid", "test"}
    assert "| Human translation | " in (finished.folder / "reports/pages/discourse.md").read_text()
    assert list((finished.folder / "reports/pages/figures").glob("*.svg"))
    assert "toy xx-yy, seed 1" in (finished.folder / "reports/report.html").read_text()


def test_a_stage_opens_what_it_declares(finished):
    assert set(finished.opened) == set(finished.order)
    assert {
        name: left for name in finished.order if (left := undeclared(finished, name, finished.declared(name)))
    } == {}


@pytest.mark.parametrize(
    ("stage", "left_out"),
    [
        ("contrast@plain-1", "runs/tokenized"),
        ("decode@reader-1", "src/context_nmt/decoding/search.py"),
        ("decode@reader-1", "src/context_nmt/mechanisms/hierarchical_attention.py"),
        ("train@small-1", "src/context_nmt/decoding/validation.py"),
        ("report", "src/context_nmt/report/papers/lexical_shortcuts.yaml"),
        ("download@spare", "src/context_nmt/corpus/formats/text.py"),
    ],
)
def test_what_is_not_declared_would_be_seen(finished, stage, left_out):
    declared = finished.declared(stage)
    assert undeclared(finished, stage, declared - {left_out})


def test_the_teacher_comes_before_its_translations_and_these_before_the_student(finished):
    chain = ("train@plain-1", "average@plain-1", "distill@plain-1", "train_distilled@student-1", "decode@student-1")
    assert sorted(chain, key=finished.order.index) == list(chain)
    taught, sources = (finished.folder / path for path in ("runs/distilled/1/train.yy", "runs/subwords/train.xx"))
    assert taught.read_text().count("\n") == sources.read_text().count("\n") == 300
    assert finished.json("runs/distilled/1/distilled.json") == {"teacher": "plain-1", "sentences": 300}
    assert "ngram_accuracy" in {row["metric"] for row in finished.rows("metrics/analyses/student-1.csv")}
    continued = ("average@plain-1", "train_document@reader-1", "decode@reader-1")
    assert sorted(continued, key=finished.order.index) == list(continued)


def test_results_are_in_git_and_the_rest_is_not(finished):
    tracked = finished.run("git", "ls-files", "metrics", "reports", "runs").split("\n")
    assert "metrics/hypotheses/plain-1.zip" in tracked
    assert "metrics/curves/plain-1.csv" in tracked
    assert {"metrics/contrastive/plain-1.csv", "metrics/contrastive/plain-1.json"} <= set(tracked)
    assert {"reports/report.md", "reports/papers/dual_contextual.md", "reports/figures/costs.svg"} <= set(tracked)
    assert not [path for path in tracked if path.startswith(("reports/pages", "reports/tables", "reports/report.html"))]
    assert not [path for path in tracked if path.startswith("runs/") and not path.endswith(".gitignore")]


def test_a_second_repro_does_nothing(finished):
    assert finished.repro() == set()
    assert finished.run("git", "status", "--porcelain") == ""


def test_plots_need_no_network(finished):
    finished.run("dvc", "plots", "show")
    page = (finished.folder / "dvc_plots/index.html").read_text(encoding="utf-8")
    assert "valid_loss" in page
    assert not re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=[\"']?(?:https?:)?//", page)


def test_two_clean_clones_give_equal_locks_side_by_side_too(finished):
    printed = finished.before.run(sys.executable, "-m", "context_nmt", "repro", "--jobs", "2")
    assert finished.before.lock() == finished.lock()
    assert "metrics/results.md" in printed
    assert "\x1b" not in printed
    assert finished.before.repro() == set()


def test_two_experiments_train_at_once_in_copies_of_the_project(finished):
    """Each trains another variant; the workspace is left as it was."""
    waiting = []
    for variant, updates in {"small": 4, "plain": 6}.items():
        change = f"+variants.{variant}.training={{maximum_updates: {updates}, validate_every: {updates}}}"
        averaging = f"+variants.{variant}.averaging={{count: 1}}"
        command = ("dvc", "--wait-for-lock", "exp", "run", "--temp", "--name", f"aside-{variant}")
        waiting.append(finished.start(*command, f"train@{variant}-1", "-S", change, "-S", averaging))
    for finish in waiting:
        finish()
    references = finished.run("git", "for-each-ref", "--format", "%(refname)", "refs/exps").split()
    for variant, updates in {"small": 4, "plain": 6}.items():
        (experiment,) = [name for name in references if name.endswith(f"/aside-{variant}")]
        curve = finished.run("git", "show", f"{experiment}:metrics/curves/{variant}-1.csv")
        assert [row.split(",")[0] for row in curve.splitlines()] == ["update", str(updates)]
    assert finished.run("git", "status", "--porcelain") == ""


def test_editing_the_teacher_runs_it_and_its_students_and_the_comparisons_with_it(finished):
    finished.edit("plain: {}", "plain: {training: {maximum_updates: 15}, averaging: {count: 1}}")
    stages = finished.repro("significance")
    assert trainings(stages) == {"train@plain-1", "train_distilled@student-1", "train_document@reader-1"}
    assert stages >= {"distill@plain-1", "pair"} | of_text("plain", "student", "reader", "small")


STUDENT = {f"{stage}@student-1" for stage in ("train_distilled", "average", "decode")}
SEARCHES = {"decode@small-1", "decode@student-1"}


@pytest.mark.parametrize(
    ("edits", "targets", "expected"),
    [
        ({"training: {maximum_sentence_length: 30}": "training: {maximum_sentence_length: 29}"}, ["decode"], STUDENT),
        (
            {"small: {": "small: {decoding: {beam: 1}, ", "iterations: 3": "iterations: 2"},
            ["decode", "contrast", "describe"],
            SEARCHES,
        ),
        (
            {"tests: [valid, test]": "tests: [valid, test, later]"},
            ["train", "train_document"],
            {"tokenize", "bpe", "average@plain-1"},
        ),
    ],
    ids=["a student", "searches", "a test set"],
)
def test_an_edit_runs_again_what_it_concerns_and_nothing_else(finished, edits, targets, expected):
    finished.repro(*targets)
    for old, new in edits.items():
        finished.edit(old, new)
    assert finished.repro(*targets) == {"plan"} | expected


def test_another_launcher_runs_nothing_again(finished):
    targets = ("train", "train_distilled", "decode", "contrast")
    assert trainings(finished.repro(*targets)) == set()
    finished.edit("train: python, decode: env UNUSED=1 python", "train: env UNUSED=2 python, decode: python")
    assert finished.repro(*targets) == set()


def test_comments_docstrings_and_layout_run_the_code_stage_alone(finished):
    finished.repro()
    for path in [*finished.folder.rglob("src/context_nmt/**/*.py"), *finished.folder.glob("stages/*.py")]:
        first, *rest = path.read_text().split("\n")
        assert first.startswith('"""'), path
        path.write_text("\n".join(["# a comment", f'"""Other words. {first[3:]}', "", *rest, "# the end", ""]))
    assert finished.repro() == {CODE}


def test_a_new_key_of_params_yaml_trains_and_decodes_nothing(finished):
    targets = ("train", "train_distilled", "decode", "contrast", "significance")
    finished.repro(*targets)
    path = finished.folder / "src/context_nmt/settings/parameters.py"
    text = path.read_text()
    path.write_text(text.replace("    focus: str", "    colour: str = 'blue'\n    focus: str", 1))
    assert path.read_text() != text
    assert finished.repro(*targets) <= {CODE, "plan", "pair"}


@pytest.mark.parametrize(
    ("path", "trained", "decoded"),
    [
        # `small` validates by BLEU, and decoding knows all kinds of models
        ("decoding/search.py", {"train@small-1"}, True),
        ("mechanisms/hierarchical_attention.py", {"train_document@reader-1"}, False),
        ("models/kinds/masked.py", {"train_distilled@student-1", "train@small-1"}, True),
        # the same weights come out
        ("training/losses.py", {f"{TRAIN.get(name, 'train')}@{name}-1" for name in VARIANTS}, False),
    ],
)
def test_changed_code_runs_again_what_uses_it_and_nothing_else(finished, path, trained, decoded):
    finished.change(path)
    stages = finished.repro("train", "train_distilled", "train_document", "decode")
    assert trainings(stages) == trained
    assert ("distill@plain-1" in stages) == decoded
    assert not decoded or stages >= {f"decode@{name}-1" for name in VARIANTS}


def test_a_new_mechanism_trains_the_variants_that_use_it_and_no_other(finished):
    mechanisms = finished.folder / "src/context_nmt/mechanisms"
    shutil.copy(mechanisms / "multi_head_attention.py", mechanisms / "another.py")
    assert finished.repro("train") == {CODE, "plan"}
    entry = "{slots: {encoder_self_attention: {mechanism: another}}, baseline: plain}"
    finished.edit("variants:\n", f"variants:\n  new: {entry}\n")
    finished.edit("bitext: [", "bitext: [new, ")
    assert finished.repro("train") == {"plan", "train@new-1"}


def test_a_clone_without_the_cache_is_up_to_date_and_trains_a_new_variant_and_seed_alone(finished, folder):
    finished.repro()
    finished.commit("all of it")
    clone = finished.clone(folder / "bare")
    assert ran(clone.run("dvc", "repro", "--allow-missing", "--dry")) == []
    clone.edit("variants:\n", "variants:\n  wide: {model: {feed_forward_width: 32}, baseline: plain}\n")
    clone.edit("bitext: [", "bitext: [wide, ")
    clone.run(sys.executable, "-m", "context_nmt", "repro", "--jobs", "2", "--allow-missing")
    assert {path.name for path in clone.folder.glob("runs/training/*")} == {"wide-1"}
    assert clone.json("metrics/results.json")["wide"]["test"]["sacrebleu"]["seeds"] == 1
    assert ran(clone.run("dvc", "repro", "--allow-missing", "--dry")) == []


def test_one_variant_alone_leaves_the_others_marked_as_out_of_date_until_they_have_run_too(finished):
    finished.repro()
    page = finished.folder / "metrics/results.md"
    assert "out of date" not in page.read_text()
    finished.edit("resamples: 20", "resamples: 30")
    finished.run(sys.executable, "-m", "context_nmt", "repro", "--only", "plain")
    assert "| plain |" in page.read_text()
    assert "| reader (out of date) |" in page.read_text()
    finished.run("dvc", "repro", "--force", "--single-item", "report")  # as `make report`, with the next command
    finished.run(sys.executable, "stages", "report", "--mark")
    assert "| reader (out of date) |" in page.read_text()
    assert finished.repro() >= {"report"} | of_text("reader")
    assert "out of date" not in page.read_text()


def test_new_translations_from_a_file_run_their_scores_alone_and_a_label_the_tables(finished):
    path, page = finished.folder / "external/person/test.txt", finished.folder / "metrics/results.md"
    path.write_text(path.read_text().replace("vidan", "woren"))
    finished.run(sys.executable, "stages", "report", "--mark")
    assert "| person (out of date) |" in page.read_text()
    assert "| plain |" in page.read_text()
    assert finished.repro() == EXTERNAL | {"pair", "report", "focus"}
    assert "out of date" not in page.read_text()
    finished.edit("person: {", "person: {label: A person, ")
    assert finished.repro() == {"pair", "report"}
    assert "| A person |" in page.read_text()
    assert finished.json("metrics/results.json")["person"]["valid"]["sacrebleu"]["mean"] == 100.0


def test_a_project_out_of_the_source_distribution_runs(tmp_path, warm):
    """Installed, `context-nmt new` makes a folder that needs nothing of this repository."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--no-index"]
    copy = shutil.copytree(ROOT, tmp_path / "copy", ignore=shutil.ignore_patterns(".venv", "runs", "cache", "build"))
    sdist = f"from setuptools import build_meta; build_meta.build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", sdist], cwd=copy, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    subprocess.run([*pip, "wheel", *options, archive, "--wheel-dir", str(tmp_path)], check=True, capture_output=True)
    subprocess.run([*pip, "install", *options, "--target", "site", *tmp_path.glob("*.whl")], cwd=tmp_path, check=True)
    shutil.rmtree(copy)
    environment = os.environ | warm | {"PYTHONPATH": f"{tmp_path / 'site'}:{warm['PYTHONPATH']}"}

    def command(*words, cwd=tmp_path):
        subprocess.run([sys.executable, "-m", "context_nmt", *words], cwd=cwd, env=environment, check=True)

    command("new", "mine")
    folder = tmp_path / "mine"
    values = yaml.safe_load(PARAMETERS) | {"root": ".", "download": [], "rescored": [], "focus": "small"}
    values["external"] = {}
    values["variants"] = {name: values["variants"][name] for name in ("plain", "small")}
    values["train"] = {key: [] for key in values["train"]} | {"bitext": ["plain", "small"]}
    values["train"] |= {"document_start": None, "continued_start": None}
    values["probing"] = {"sentences": [], "words": []}
    (folder / "params.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    write_corpus(folder / "data/toy")
    command("repro", "mine")
    assert set(json.loads((folder / "metrics/results.json").read_text())) == {"plain", "small"}
    assert (folder / "reports/report.md").is_file()
    mechanisms = folder / "src/context_nmt/mechanisms"
    shutil.copy(mechanisms / "multi_head_attention.py", mechanisms / "own.py")
    values["variants"]["small"] = {"slots": {"cross_attention": {"mechanism": "own"}}}
    (folder / "params.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    command("describe", "params.yaml", "--vocabulary", "50", cwd=folder)
