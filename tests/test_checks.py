"""`make check` finds copies of dvc.yaml that differ, and files params.yaml that cannot run."""

import difflib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dvc.repo import Repo
from measured import assert_golden
from ruamel.yaml import YAML

from context_nmt.code_closure import write_code_files
from context_nmt.commands.experiments import check
from context_nmt.files import UserError
from context_nmt.pipeline.checks import check_before_run, check_experiments, experiments
from context_nmt.pipeline.new_experiment import StartingPoint, create_experiment
from context_nmt.settings.parameters import read_parameters

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
BUILT = set()  # models that the checks of these tests have built
REFUSED = YAML(typ="safe").load(Path(__file__).parent / "refused_experiments.yaml")


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A project with the default experiment, an existing one and a new one."""
    folder = tmp_path_factory.mktemp("original")
    existing = [
        f"experiments/multi30k-en-de/{name}" for name in ("dvc.yaml", "params.yaml", ".dvc/config", ".dvcignore")
    ]
    for name in ("dvc.yaml", "params.yaml", "data/params.yaml", *existing):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    yaml = YAML()
    catalogue = yaml.load(folder / "data/params.yaml")
    for section, used in (("generated", "miniature"), ("corpora", "multi30k")):  # reading all of them takes a second
        catalogue[section] = {used: catalogue[section][used]}
    yaml.dump(catalogue, folder / "data/params.yaml")
    create_experiment(folder, "one", StartingPoint())
    write_code_files(folder)
    return folder


@pytest.fixture
def project(original, tmp_path):
    return shutil.copytree(original, tmp_path / "project")


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def problems_of(project, *, before_run=False):
    """The problems of a project or, before a run, of experiments/one, each without the folder's path."""
    folder = project / "experiments/one"
    with pytest.raises(UserError) as error:
        check_before_run(project, folder) if before_run else check_experiments(project, BUILT)
    lines = str(error.value).split("\n")
    assert all(line.startswith(f"{folder}/") for line in lines), lines
    return [line.removeprefix(f"{folder}/") for line in lines]


def test_experiments_without_a_problem_are_counted(project):
    """`make check` checks the experiments of this project."""
    assert check_experiments(project, BUILT) == len(experiments(project)) == 3


@pytest.mark.parametrize("folder", experiments(ROOT), ids=lambda folder: folder.name)
def test_the_text_of_the_experiments_of_this_project_is_complete(folder):
    check_before_run(ROOT, folder)


@pytest.mark.parametrize(
    ("file", "printed"),
    [
        ("stages/focus.py", "stages, in all experiments, with the stages after them: focus\n"),
        ("src/context_nmt/results/focus.py", "stages, in all experiments, with the stages after them: focus\n"),
        (
            "src/context_nmt/mechanisms/dual_context.py",
            "stages of the plans that name these modules: context_nmt.mechanisms.dual_context\n",
        ),
        (
            "src/context_nmt/corpus/formats/text.py",  # which lists its formats
            "stages of the plans that name these modules: context_nmt.corpus.formats.text\n",
        ),
        (
            "src/context_nmt/miniature/lexicon.yaml",
            "stages of the plans that name these modules: context_nmt.miniature.generation\n",
        ),
        ("src/context_nmt/progress.py", "no stage or plan has this file among its code\n"),
        ("src/context_nmt/decoding/translating_text.py", "no stage or plan has this file among its code\n"),
    ],
)
def test_check_shows_what_a_change_of_a_file_affects(capsys, file, printed):
    check(ROOT, ROOT / file)
    assert capsys.readouterr().out == printed


def test_only_files_of_the_project_affect_it(tmp_path):
    (tmp_path / "other.py").touch()
    for file in (ROOT / "none.py", tmp_path / "other.py"):
        with pytest.raises(UserError, match=r"--affected is .*py; it must be a file of the project"):
            check(ROOT, file)


def test_a_new_experiment_passes(project):
    assert check_experiments(project, BUILT) == 3


def link(path):
    target = path.rename(path.with_name("other"))
    path.symlink_to(target)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("dvc.yaml", lambda path: path.write_bytes(path.read_bytes() + b"\n"), "differs"),
        ("dvc.yaml", Path.unlink, "no such file"),
        ("dvc.yaml", link, "a link"),
        (
            ".dvc/config",
            lambda path: edit(path, "dir = ../", "dir = ./"),
            "has 'dir = ./../../.dvc/cache'; it must be 'dir = ../../../.dvc/cache'",
        ),
        (".dvc/config", lambda path: edit(path, "[core]", "[cor"), "lacks a line; it must be '[core]'"),
        (".dvcignore", lambda path: edit(path, ".*.partial", "x"), "lacks a line; it must be '.*.partial'"),
        (".dvc/config", Path.unlink, "lacks a line"),
        (".dvcignore", Path.unlink, "lacks a line"),
    ],
)
def test_a_file_that_must_be_a_copy_and_differs_is_found(project, name, change, words):
    change(project / "experiments/one" / name)
    problems = problems_of(project)
    assert all(problem.startswith(f"{name}: {words}") for problem in problems)
    assert len(problems) == 1 or words == "lacks a line"


def test_dvc_may_be_configured_for_one_experiment(project):
    folder = project / "experiments/one"
    before = (folder / ".dvc/config").read_text()
    for arguments in (["config", "cache.type", "symlink,copy"], ["remote", "add", "-d", "storage", "../storage"]):
        subprocess.run([sys.executable, "-m", "dvc", *arguments], cwd=folder, check=True)
    assert (folder / ".dvc/config").read_text() != before
    with (folder / ".dvcignore").open("a") as file:
        file.write("notes\n")
    assert check_experiments(project, BUILT) == 3


@pytest.mark.parametrize(
    ("when", "changes", "start", "words"),
    [(when, changes, start, words) for when, rows in REFUSED.items() for changes, start, *words in rows],
)
def test_a_params_file_that_cannot_run_is_found_and_named(project, when, changes, start, words):
    for old, new in changes.items():
        edit(project / "experiments/one/params.yaml", old, new)
    problem, *further_problems = problems_of(project, before_run=when == "before a run")
    assert problem.startswith(f"params.yaml: {start}"), problem
    assert all(word in problem for word in words), problem
    assert when == "before a run" or all("train.document_start: " in further for further in further_problems)


def test_a_missing_list_of_students_and_an_unused_teacher_are_named(project):
    path, yaml = project / "experiments/one/params.yaml", YAML()
    parameters = yaml.load(path)
    for student in parameters["train"].pop("distilled"):
        del parameters["variants"][student]
    del parameters["train"]["teachers"]
    yaml.dump(parameters, path)
    missing = "params.yaml: train.{0}: dvc.yaml reads this key; write `{0}: []` for its default"
    assert problems_of(project) == [missing.format("distilled"), missing.format("teachers")]
    edit(path, "train:\n", "train:\n  teachers: [transformer]\n  distilled: []\n")
    (problem,) = problems_of(project)
    assert problem.startswith("params.yaml: train.teachers: no variant learns from transformer; ")


def test_a_tab_that_dvc_reads_passes_but_cannot_be_kept_in_a_new_experiment(project):
    edit(project / "experiments/one/params.yaml", "focus: ", "focus:\t")
    assert check_experiments(project, BUILT) == 3
    with pytest.raises(UserError, match=r"^\S*one/params\.yaml: not YAML \(found character '\\t'[^\n]*line \d+\)$"):
        create_experiment(project, "two", StartingPoint(like="one"))


def test_every_problem_gets_a_line(project):
    (project / "experiments/one/dvc.yaml").unlink()
    for folder in (project, project / "experiments/one"):
        edit(folder / "params.yaml", "heads: 4", "heads: 0")
    with pytest.raises(UserError) as error:
        check_experiments(project, BUILT)
    assert len(str(error.value).split("\n")) == 3


def test_a_new_experiment_of_a_project_without_git_does_not_need_git(project):
    (project / ".dvc").mkdir(exist_ok=True)
    (project / ".dvc/config").write_text("[core]\n    no_scm = true\n")
    shutil.rmtree(project / "experiments")
    folder = create_experiment(project, "two", StartingPoint(like="."))
    check_before_run(project, folder)
    with Repo(str(folder)) as repo:  # otherwise, DVC refuses a folder without git
        assert repo.root_dir == str(folder)


NEW_EXPERIMENTS = {  # name -> the experiment that it starts from, and options; `mine` is the user's own text
    "default": (".", {}),
    "reversed": (".", {"source": "de", "target": "en"}),
    "large": (".", {"corpus": "large"}),  # the miniature still has the probing tasks
    "own": ("multi30k-en-de", {"corpus": "mine", "target": "cs"}),
    "own-like-default": (".", {"like": ".", "corpus": "mine"}),
    "own-like-one": ("one", {"like": "one", "corpus": "mine"}),
    "downloaded": ("multi30k-en-de", {"like": "multi30k-en-de"}),
}


def test_a_new_experiment_has_the_parameters_of_another_one_with_the_given_changes(project):
    """Layout and comments stay; tests/golden/new-experiments.diff has all changed lines."""
    edit(project / "data/params.yaml", "generated:\n", "generated:\n  large: {seed: 2}\n")
    changes = []
    for name, (origin, options) in NEW_EXPERIMENTS.items():
        folder = create_experiment(project, name, StartingPoint(**options))
        assert (folder / "dvc.yaml").read_bytes() == (project / "dvc.yaml").read_bytes()
        like = project if origin == "." else project / "experiments" / origin
        old, new = ((path / "params.yaml").read_text().splitlines() for path in (like, folder))
        links = [f"{path.name} -> {path.readlink()}" for path in folder.glob("data/*")]
        changes += [name, *links, *(line for line in difflib.ndiff(old, new) if line[0] in "+-"), ""]
        read_parameters(folder / "params.yaml")
    assert_golden("\n".join(changes), "new-experiments.diff")


def test_text_in_another_language_is_not_prepared_as_in_the_former(project):
    prepared = "{pretokenized: true, script: python x.py, truecase: false}"
    path = project / "experiments/one/params.yaml"
    for side in ("source", "target"):
        text = re.search(rf"  {side}: {{.*", path.read_text())[0]
        edit(path, text, f"  {side}: {prepared}")

    def texts(name, **changes):
        text = read_parameters(
            create_experiment(project, name, StartingPoint(like="one", **changes)) / "params.yaml"
        ).text
        return [(side.pretokenized, side.script) for side in (text.source, text.target)]

    split = (True, "python x.py")
    assert texts("two", corpus="mine", target="cs") == [split, (False, None)]
    assert texts("back", source="de", target="en") == [split, split]
    edit(path, prepared, "{pretokenized: true}")  # the tokens are in the corpus's files
    assert texts("other", corpus="mine") == [(False, None), split]
    assert texts("other-back", source="de", target="en") == [split, (True, None)]


def test_a_new_experiment_has_no_external_systems(project):
    path = project / "experiments/one/params.yaml"
    edit(path, "external: {}", "external: {llm: {baseline: cmlm}}")
    edit(path, "    baseline: cmlm", "    baseline: llm")
    edit(path, "\nfocus: ", "\nfocus: llm  # ")
    settings = read_parameters(create_experiment(project, "two", StartingPoint(like="one")) / "params.yaml")
    assert settings.external == {}
    assert settings.focus == "transformer"
    assert (settings.variants["ccan"].baseline, settings.variants["cmlm"].baseline) == (None, "transformer")


def test_a_new_experiment_finds_the_users_text_in_the_shared_folder(project):
    folder = create_experiment(project, "two", StartingPoint(like=".", corpus="mine"))
    assert read_parameters(folder / "params.yaml").download == ("miniature",)  # for its probing tasks
    with pytest.raises(UserError, match=r"corpus\.name: .*two/data/mine"):
        check_before_run(project, folder)
    with_documents(project / "data/mine")
    check_before_run(project, folder)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        *((name, {}, "NAME is ") for name in ("", "a/b", "..", "Ä", "-x")),
        ("one", {}, "experiments/one exists"),
        (
            "two",
            {"like": "multi30k", "corpus": "mine"},
            "LIKE is 'multi30k'; the experiments are multi30k-en-de, one, .",
        ),
        ("two", {"corpus": "a/b"}, "CORPUS is 'a/b'; it must be the name of a folder in data/"),
        ("two", {"corpus": "../b"}, "CORPUS is '../b'"),
        ("two", {"corpus": ""}, "CORPUS is ''"),
        ("two", {"source": "de"}, "experiments/two/params.yaml: "),
    ],
)
def test_a_refused_experiment_leaves_no_folder(project, name, options, message):
    before = sorted((project / "experiments").iterdir())
    with pytest.raises(UserError, match=re.escape(message)):
        create_experiment(project, name, StartingPoint(**options))
    assert sorted((project / "experiments").iterdir()) == before


def with_documents(folder):
    folder.mkdir(parents=True)
    for split in ("train", "valid", "test"):
        (folder / f"{split}.documents").write_text("0\n")
        for language in ("en", "de"):
            (folder / f"{split}.{language}").write_text("a\n")


@pytest.mark.parametrize("ending", ["train.documents", "valid.documents", "test.en", "test.de"])
def test_a_missing_file_of_the_users_folder_is_named_before_the_run(project, ending):
    folder = project / "experiments/one/data/mine"
    with_documents(folder)
    edit(project / "experiments/one/params.yaml", "name: miniature", "name: mine")
    (problem,) = problems_of(project, before_run=True)
    assert all(words in problem for words in ("corpus.contrastive", "pronouns", "senses", "SET.en-de.jsonl"))
    for name in ("pronouns", "senses"):
        (folder / f"{name}.en-de.jsonl").touch()
    check_before_run(project, project / "experiments/one")
    edit(project / "experiments/one/params.yaml", "    - senses\n", "    - senses.v1\n")
    (folder / "senses.en-de.jsonl").rename(folder / "senses.v1.en-de.jsonl")
    check_before_run(project, project / "experiments/one")
    (folder / ending).unlink()
    (problem,) = problems_of(project, before_run=True)
    if ending.endswith("documents"):
        assert problem.startswith(
            "params.yaml: train.document, train.continued: transformer_continued, han_encoder, han_joint"
        )
        assert f"data/mine/{ending}" in problem
    else:
        assert problem == "params.yaml: corpus.tests: no text test; data/mine has train, valid in en and de"


def test_a_download_without_documents_or_a_split_is_refused_before_the_run(project):
    path = project / "experiments/one/params.yaml"
    edit(path, "download: [miniature]", "download: [miniature, multi30k]")
    edit(path, "name: miniature", "name: multi30k")
    edit(path, "    - pronouns\n    - senses\n", "    []\n")
    problems = "\n".join(problems_of(project, before_run=True))
    assert all(word in problems for word in ("no text valid;", "data/multi30k/train.documents")), problems


@pytest.mark.parametrize(
    ("section", "entry", "message"),
    [
        ("generated", "multi30k: {}", "generated.multi30k: an entry under corpora also has this name"),
        ("generated", "../src: {}", "generated.../src: the name must be that of a folder"),
        ("generated", "tiny: {trian: 5}", "generated.tiny: trian: unknown key; did you mean 'train'?"),
        ("corpora", "mine: {}", "corpora.mine: format: this key is required"),
        (
            "corpora",
            "mine: {format: opus_xml, licence: x, homepage: x, documents: 3, files: [{url: a/b, sha256: null}]}",
            "corpora.mine: documents is for the formats tvsub and opus_moses, not opus_xml",
        ),
    ],
)
def test_every_wrong_entry_is_found_and_stops_only_experiments_that_name_it(project, section, entry, message):
    edit(project / "data/params.yaml", f"{section}:\n", f"{section}:\n  {entry}\n")
    with pytest.raises(UserError, match=re.escape(message)):
        check_experiments(project, BUILT)
    check_before_run(project, project)
