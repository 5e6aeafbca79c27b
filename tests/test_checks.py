"""`make check` finds a copy of dvc.yaml that differs and a params.yaml that cannot run."""

import re
import shutil
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from context_nmt.code_closure import write_code_files
from context_nmt.files import UserError
from context_nmt.pipeline.checks import check_before_run, check_experiments
from context_nmt.pipeline.new_experiment import create_experiment
from context_nmt.settings.parameters import read_parameters

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


@pytest.fixture
def project(tmp_path):
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("dvc.yaml", "params.yaml", ".dvc/config", ".dvcignore"):
        path = tmp_path / "experiments/multi30k-en-de" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "experiments/multi30k-en-de" / name, path)
    (tmp_path / "data").mkdir()
    shutil.copy(ROOT / "data/params.yaml", tmp_path / "data")
    create_experiment(tmp_path, "one")
    write_code_files(tmp_path)
    return tmp_path


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_the_experiments_of_this_project_pass():
    assert check_experiments(ROOT) == 1 + len(list((ROOT / "experiments").iterdir()))


def test_a_new_experiment_passes(project):
    assert check_experiments(project) == 3


def test_a_copy_that_differs_by_one_byte_is_found(project):
    copy = project / "experiments/one/dvc.yaml"
    copy.write_bytes(copy.read_bytes() + b"\n")
    with pytest.raises(UserError, match=r"experiments/one/dvc\.yaml: differs from .*dvc\.yaml; copy it again"):
        check_experiments(project)


def test_a_missing_copy_is_found(project):
    (project / "experiments/one/dvc.yaml").unlink()
    with pytest.raises(UserError, match=r"experiments/one/dvc\.yaml: no such file; copy it"):
        check_experiments(project)


def test_a_folder_that_is_no_repository_of_its_own_is_found(project):
    config = project / "experiments/one/.dvc/config"
    for change in (lambda: config.write_text(config.read_text() + "\n"), config.unlink):
        change()
        with pytest.raises(UserError, match=r"one/\.dvc/config: is not that of a new experiment"):
            check_experiments(project)


def test_a_link_instead_of_a_copy_is_found(project):
    copy = project / "experiments/one/dvc.yaml"
    copy.unlink()
    copy.symlink_to(project / "dvc.yaml")
    with pytest.raises(UserError, match="a link, which DVC cannot read"):
        check_experiments(project)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("root: ../..", "root: .", "root is '.'; here it must be '../..'"),
        ("  heads: 4", "  heads: 3", r"model: width \(64\) must be divisible by heads \(3\)"),
        ("  heads: 4", "  head: 4", "model.head: unknown key; did you mean 'heads'"),
        ("label: Transformer\n", "slots: {cross_attention: {mechanism: none}}\n", "no mechanism 'none'; there are"),
        ("label: Transformer\n", "model: {width: 129}\n", "variants.transformer.model"),
        ("corpus:", "corpus: [", "not YAML"),
        ("download: [miniature]", "", r"download: dvc\.yaml reads this key; write `download: \[\]`"),
        ("units:", "#", "units: dvc.yaml reads this key; write `units: {}`"),
        ("  teachers: [transformer]", "  #", r"train: distilled names \[.*'cmlm'.*\], but teachers names no teacher"),
        ("  teachers: [transformer]", "  teachers: [cmlm]", r"teachers: \['cmlm'\] is not trained on bitext"),
        ("  teachers: [transformer]", "  teachers: [transfomer]", r"teachers: \['transfomer'\] is not trained on"),
        (
            "      kind: masked",
            "      kind: mask",
            "variants.cmlm.model: kind: input should be 'autoregressive' or 'masked', not 'mask'",
        ),
    ],
)
def test_a_params_file_that_cannot_run_is_found_and_named(project, old, new, message):
    edit(project / "experiments/one/params.yaml", old, new)
    with pytest.raises(UserError, match=message) as error:
        check_experiments(project)
    assert str(error.value).startswith(str(project / "experiments/one"))


def test_teachers_and_students_are_lists_even_when_nobody_is_one(project):
    path = project / "experiments/one/params.yaml"
    drop(path, "teachers", "distilled")
    with pytest.raises(UserError) as error:
        check_experiments(project)
    assert [line.removeprefix(f"{path}: ") for line in str(error.value).split("\n")] == [
        "train.teachers: dvc.yaml reads this list; write `teachers: []` if it is empty",
        "train.distilled: dvc.yaml reads this list; write `distilled: []` if it is empty",
    ]


def test_a_missing_list_of_probed_variants_is_found(project):
    path = project / "experiments/one/params.yaml"
    edit(path, "\n  words: [transformer, lexical_shortcuts_fusion]", "")
    with pytest.raises(
        UserError, match=r"probing\.words: dvc\.yaml reads this key; write `words: \[\]` for its default"
    ):
        check_experiments(project)


def test_a_teacher_without_students_is_found(project):
    path = project / "experiments/one/params.yaml"
    drop(path, "distilled")
    edit(path, "  teachers:", "  distilled: []\n  teachers:")
    with pytest.raises(UserError, match="transformer would translate the training text for nobody; name its students"):
        check_experiments(project)


def test_a_masked_teacher_is_found(project):
    edit(project / "experiments/one/params.yaml", "\nmodel:\n", "\nmodel:\n  kind: masked\n")
    with pytest.raises(
        UserError, match=r"train\.teachers: transformer is a masked model; a teacher translates by beam"
    ):
        check_experiments(project)


def test_a_teacher_that_has_nothing_to_choose_among_is_found(project):
    edit(project / "experiments/one/params.yaml", "\nrescored: []", "\nrescored: [cmlm]")
    with pytest.raises(UserError, match=r"cmlm: decoding\.length_beam is 1; under rescored the teacher needs"):
        check_experiments(project)


def test_an_alias_is_found(project):
    path = project / "experiments/one/params.yaml"
    edit(path, "\naveraging: {", "\naveraging: &shared {")
    edit(path, "    label: Transformer\n", "    label: Transformer\n    averaging: *shared\n")
    with pytest.raises(UserError, match=r"line \d+: \*shared is an alias, which `dvc exp run -S` breaks"):
        check_experiments(project)


@pytest.mark.parametrize(("kind", "search"), [("masked", "length_beam"), ("autoregressive", "beam")])
def test_more_hypotheses_than_are_searched_are_found(project, kind, search):
    changes = f"\ndecoding: {{n_best: 3, beam: {3 if kind == 'masked' else 2}, length_beam: 3, "
    edit(project / "experiments/one/params.yaml", "\ndecoding: {beam: 4, ", changes)
    with pytest.raises(UserError, match=rf"n_best is 3; with kind {kind} it must be at most decoding\.{search} \("):
        check_experiments(project)


def drop(path, *lists):
    """Take lists under `train` out of a params.yaml, with the variants that only they name."""
    yaml = YAML()
    parameters = yaml.load(path)
    for name in lists:
        for variant in parameters["train"].pop(name):
            if variant not in parameters["train"]["bitext"]:
                del parameters["variants"][variant]
    yaml.dump(parameters, path)


def test_every_problem_gets_a_line(project):
    (project / "experiments/one/dvc.yaml").unlink()
    edit(project / "experiments/one/params.yaml", "heads: 4", "heads: 0")
    edit(project / "params.yaml", "heads: 4", "heads: 0")
    with pytest.raises(UserError) as error:
        check_experiments(project)
    assert len(str(error.value).split("\n")) == 3


def test_a_new_experiment_has_the_corpus_and_languages_given(project):
    folder = create_experiment(project, "mine-en-cs", corpus="mine", target="cs")
    settings = read_parameters(folder / "params.yaml")
    corpus = settings.corpus
    assert (corpus.name, corpus.source, corpus.target) == ("mine", "en", "cs")
    assert (corpus.train, corpus.validation, corpus.tests) == ("train", "valid", ("test",))
    assert (folder / "dvc.yaml").read_bytes() == (project / "dvc.yaml").read_bytes()
    recipe_folder = project / "experiments/multi30k-en-de"
    recipe = read_parameters(recipe_folder / "params.yaml")
    assert (settings.variants, settings.model) == (recipe.variants, recipe.model)
    assert settings.corpus.contrastive == ()
    assert settings.download == ()
    behind, original = (
        (path / "params.yaml").read_text().partition("\n\ntext:")[2] for path in (folder, recipe_folder)
    )
    assert behind == original != ""


def test_a_new_experiment_on_the_default_corpus_has_its_recipe_splits_and_contrastive_sets(project):
    settings = read_parameters(create_experiment(project, "two", source="de", target="en") / "params.yaml")
    default = read_parameters(project / "params.yaml")
    assert (settings.corpus.source, settings.corpus.target) == ("de", "en")
    assert settings.corpus.tests == default.corpus.tests
    assert settings.corpus.contrastive == default.corpus.contrastive
    assert settings.model == default.model
    assert settings.download == ("miniature",)
    assert not (project / "experiments/two/data").exists()


def test_a_new_experiment_finds_a_text_of_ones_own_where_all_experiments_do(project):
    folder = create_experiment(project, "two", like=".", corpus="mine")
    assert read_parameters(folder / "params.yaml").download == ("miniature",)  # for its probing tasks
    with pytest.raises(UserError, match=r"corpus\.name: no folder .*two/data/mine; put your text there"):
        check_before_run(project, folder)
    with_documents(project / "data/mine")
    check_before_run(project, folder)


def test_a_new_experiment_starts_from_the_one_that_is_named(project):
    edit(project / "experiments/one/params.yaml", "width: 64", "width: 32")
    two, three = (
        read_parameters(create_experiment(project, name, like=like, corpus=corpus) / "params.yaml")
        for name, like, corpus in (("two", "one", "mine"), ("three", "multi30k-en-de", None))
    )
    assert (two.corpus.name, two.corpus.tests, two.model.width) == ("mine", ("test",), 32)
    assert (three.corpus.name, three.corpus.validation) == ("multi30k", "val")
    assert "# two, started from one.\n" in (project / "experiments/two/params.yaml").read_text()


def test_an_experiment_to_start_from_that_is_not_there_is_refused(project):
    with pytest.raises(UserError, match=re.escape("LIKE is 'multi30k'; the experiments are multi30k-en-de, one, .")):
        create_experiment(project, "two", like="multi30k", corpus="mine")
    assert not (project / "experiments/two").exists()


def test_a_new_experiment_keeps_the_layout_and_comments_of_the_default_one(project):
    original = (project / "params.yaml").read_text().split("\n")
    copied = (project / "experiments/one/params.yaml").read_text().split("\n")
    changed = [number for number, (old, new) in enumerate(zip(original, copied, strict=True)) if old != new]
    assert len(original) == len(copied)
    assert changed == [0, original.index("root: .")]


def test_an_experiment_that_exists_is_refused(project):
    with pytest.raises(UserError, match=re.escape("experiments/one exists; choose another NAME")):
        create_experiment(project, "one")


@pytest.mark.parametrize("name", ["", "a/b", "..", "Ä", "-x"])
def test_a_name_that_is_no_plain_name_is_refused(project, name):
    with pytest.raises(UserError, match="NAME is"):
        create_experiment(project, name)


def with_documents(folder):
    folder.mkdir(parents=True)
    for split in ("train", "valid", "test"):
        (folder / f"{split}.documents").write_text("0\n")
        for language in ("en", "de"):
            (folder / f"{split}.{language}").write_text("a\n")


def test_what_looks_at_previous_sentences_is_refused_where_no_stage_knows_documents(project):
    path = project / "experiments/one/params.yaml"
    edit(path, "document: [han_encoder]", "document: []")
    edit(path, "  bitext:\n", "  bitext:\n    - han_encoder\n")
    with pytest.raises(
        UserError, match=r"one/params\.yaml: train\.bitext: han_encoder looks at previous sentences \(encoder_output\)"
    ) as refused:
        check_experiments(project)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("split", ["train", "valid"])
def test_a_corpus_without_documents_is_refused_before_the_run(project, split):
    with_documents(project / "experiments/one/data/mine")
    edit(project / "experiments/one/params.yaml", "name: miniature", "name: mine")
    check_before_run(project, project / "experiments/one")
    (project / f"experiments/one/data/mine/{split}.documents").unlink()
    with pytest.raises(
        UserError, match=rf"train\.document, .*han_encoder, han_joint need .* no data/mine/{split}\.documents"
    ):
        check_before_run(project, project / "experiments/one")


def test_a_corpus_to_download_without_documents_is_refused_before_the_run(project):
    path = project / "experiments/one/params.yaml"
    edit(path, "download: [miniature]", "download: [miniature, multi30k]")
    edit(path, "name: miniature", "name: multi30k")
    edit(path, "validation: valid", "validation: val")
    edit(path, "    - pronouns\n    - senses\n", "    []\n")
    with pytest.raises(UserError, match=r"no data/multi30k/train\.documents(.|\n)*no data/multi30k/val\.documents"):
        check_before_run(project, project / "experiments/one")


def test_a_download_that_is_no_entry_is_named_before_the_run(project):
    edit(project / "experiments/one/params.yaml", "download: [miniature]", "download: [miniature, mulit30k]")
    with pytest.raises(UserError, match=r"one/params\.yaml: download: .*no corpus 'mulit30k'; there are miniature, "):
        check_before_run(project, project / "experiments/one")


def test_a_corpus_that_nobody_has_is_named_before_the_run(project):
    check_before_run(project, project / "experiments/one")
    edit(project / "experiments/one/params.yaml", "name: miniature", "name: mien")
    with pytest.raises(
        UserError, match=r"corpus\.name: no folder .*one/data/mien; put .*, or name under download one of miniature, "
    ):
        check_before_run(project, project / "experiments/one")
    with_documents(project / "experiments/one/data/mien")
    check_before_run(project, project / "experiments/one")


@pytest.mark.parametrize(
    ("key", "old", "new", "message"),
    [
        (
            "train",
            "  train: train\n",
            "  train: tran\n",
            "no text tran; data/miniature has train, valid, test",
        ),
        (
            "validation",
            "validation: valid",
            "validation: dev",
            "no text dev; data/miniature has train, valid, test",
        ),
        ("tests", "    - test\n", "    - tset\n", "no text tset; data/miniature has train, valid, test"),
    ],
)
def test_a_text_that_a_corpus_has_not_is_named_before_the_run(project, key, old, new, message):
    edit(project / "experiments/one/params.yaml", old, new)
    with pytest.raises(UserError, match=rf"one/params\.yaml: corpus\.{key}: {message} in en and de$"):
        check_before_run(project, project / "experiments/one")


def test_a_language_that_a_generated_corpus_has_not_is_named_before_the_run(project):
    edit(project / "experiments/one/params.yaml", "target: de", "target: fr")
    with pytest.raises(UserError, match=r"corpus\.train: no text train; data/miniature has none in en and fr"):
        check_before_run(project, project / "experiments/one")


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_text_that_a_folder_of_one_s_own_has_not_is_named_before_the_run(project, language):
    with_documents(project / "experiments/one/data/mine")
    (project / f"experiments/one/data/mine/test.{language}").unlink()
    edit(project / "experiments/one/params.yaml", "name: miniature", "name: mine")
    with pytest.raises(UserError, match=r"corpus\.tests: no text test; data/mine has train, valid in en and de$"):
        check_before_run(project, project / "experiments/one")


def test_a_set_of_ones_own_in_a_folder_that_is_made_anew_is_refused_before_it_is_lost(project):
    edit(project / "experiments/one/params.yaml", "    - senses\n", "    - senses\n    - mine\n")
    with pytest.raises(UserError, match=r"corpus\.contrastive: \['mine'\]: miniature has pronouns, senses; its folder"):
        check_before_run(project, project / "experiments/one")
    edit(project / "experiments/one/params.yaml", "name: miniature", "name: copied")
    with_documents(project / "experiments/one/data/copied")
    check_before_run(project, project / "experiments/one")


@pytest.mark.parametrize(
    ("section", "entry", "message"),
    [
        ("generated", "multi30k: {}", "generated.multi30k: an entry under corpora has this name"),
        ("generated", "../src: {}", "generated.../src: not the name of a folder"),
        ("generated", "tiny: {trian: 5}", "generated.tiny: trian: unknown key; did you mean 'train'?"),
        ("corpora", "mine: {}", "corpora.mine: format: this key is required"),
        (
            "corpora",
            "mine: {format: text, licence: x, homepage: x, documents: 3}",
            "corpora.mine: format text has no documents",
        ),
    ],
)
def test_every_wrong_entry_of_a_corpus_is_found_and_stops_no_experiment_that_does_not_name_it(
    project, section, entry, message
):
    edit(project / "data/params.yaml", f"{section}:\n", f"{section}:\n  {entry}\n")
    with pytest.raises(UserError, match=re.escape(message)):
        check_experiments(project)
    check_before_run(project, project)


def test_a_new_experiment_on_another_generated_corpus_keeps_recipe_splits_and_sets(project):
    edit(project / "data/params.yaml", "generated:\n", "generated:\n  large: {seed: 2}\n")
    settings = read_parameters(create_experiment(project, "two", corpus="large") / "params.yaml")
    default = read_parameters(project / "params.yaml")
    assert settings.corpus.name == "large"
    assert settings.download == ("large", "miniature")  # which has the probing tasks
    assert (settings.corpus.tests, settings.corpus.contrastive) == (default.corpus.tests, default.corpus.contrastive)
    assert settings.model == default.model
