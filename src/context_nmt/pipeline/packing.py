"""Pack the trainings, translations and analyses of an experiment that are out of date, to run them without DVC."""

import glob
import json
import lzma
from collections.abc import Collection, Iterator
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from context_nmt.code_closure import OUTDATED_MESSAGE, UNHASHED_MODULES, closure, module_file, outdated_code_files
from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.files import UserError, read_json, replacing, sha256
from context_nmt.models.averaging import copy_text_files
from context_nmt.pipeline.dvc import Stage, git, read_declarations, read_stages
from context_nmt.pipeline.packed_runs import LENGTHS, MANIFEST, OFFSETS, Step, write_archive
from context_nmt.settings import some_names
from context_nmt.settings.parameters import Experiment, training_of
from context_nmt.settings.run_layout import run_name

TRAININGS = ("train", "train_document", "train_continued")
WITH_WEIGHTS = ("average", "decode", "contrast", "analyse")  # stages of each run, after its training
PACKED = (*TRAININGS, *WITH_WEIGHTS)
DISTILLATION = ("distill", "train_distilled")
PACKAGES = ("torch", "numpy", "pydantic", "safetensors", "sacremoses", "subword-nmt", "sacrebleu", "nltk")
# Most of an archive is ids, of two bytes each; the dictionary is as large as those of some millions of sentences.
COMPRESSION = {"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 3, "lp": 1, "pb": 1, "dict_size": 2**26}
RUN = """\
\"\"\"Run the steps of this archive: `python run.py --help`.\"\"\"

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER / "src"), str(FOLDER)]

from context_nmt.pipeline.packed_runs import main  # noqa: E402

main(FOLDER)
"""


def pack(experiment: Experiment, output: Path, *, only: Collection[str] = (), seeds: Collection[int] = ()) -> list[str]:
    """Write one archive, and return the names of the stages that it runs.

    These are the trainings, averagings, translations and analyses of `only` some variants and seeds, or all, that are
    out of date, and those whose outputs they need and that are out of date or missing here. Raise UserError if plans,
    text or code are not up to date, for students of a teacher, and if nothing is left to run.
    """
    settings, folder = experiment.settings, experiment.folder
    root = folder / settings.root
    for key, given, known in (("--only", only, settings.variants), ("--seeds", seeds, settings.seeds)):
        for value in given:
            if value not in known:
                names = some_names(str(value), [*map(str, known)])
                raise UserError(f"{key} {value}: not in {experiment.parameters}; there are {names}")
    if outdated := outdated_code_files(root):
        raise UserError(OUTDATED_MESSAGE.format(files=", ".join(outdated), root=root.resolve()))
    wanted = [
        f"{stage}@{run_name(variant, seed)}"
        for seed in seeds or settings.seeds
        for variant in only or settings.variants
        for stage in (training_of(settings.train, variant).stage, *WITH_WEIGHTS)
    ]
    stages = read_stages(folder)
    chosen, inputs = choose(wanted, stages, f"dvc --cd {folder} repro")
    if not chosen:
        raise UserError(f"{experiment.parameters}: these runs are up to date; there is nothing to pack")
    steps = _steps(folder, chosen, stages)
    packages = [*PACKAGES, "sentencepiece"] if settings.units.kind == "sentencepiece" else PACKAGES
    with TemporaryDirectory() as temporary_folder:
        files = dict(_data_files(experiment, steps, inputs, Path(temporary_folder))) | dict(
            _code_files(root, experiment, steps)
        )
        manifest = {
            "experiment": folder.resolve().relative_to(root.resolve()).as_posix(),
            "commit": _commit(root),
            "packages": {name: version(name) for name in packages},
            "steps": [asdict(step) for step in steps],
            "files": {name: sha256(path) for name, path in files.items()},
        }
        with replacing(output) as temporary, lzma.open(temporary, "wb", filters=[COMPRESSION]) as file:
            top = output.name.partition(".")[0]
            contents = {f"{top}/{MANIFEST}": json.dumps(manifest, indent=1).encode(), f"{top}/run.py": RUN.encode()}
            packed = {f"{top}/{name}": path for name, path in files.items()}
            write_archive(file, contents, packed)
    return [step.stage for step in steps]


def choose(wanted: Collection[str], stages: dict[str, Stage], repro: str) -> tuple[list[str], set[Path]]:
    """Return the stages to run, and the outputs of other runs that they read.

    A stage follows those that it needs, and stages are otherwise in the order of `wanted`, so that one system has
    translated before the next one trains. Raise UserError if one of them cannot run elsewhere.
    """
    chosen, inputs = set[str](), set[Path]()

    def add(name: str) -> None:
        stage, kind = stages[name], name.partition("@")[0]
        if kind in DISTILLATION:
            raise UserError(
                f"{name}: a student needs its teacher's translations, which cannot be packed; run `{repro} {name}` on"
                " one machine, and name other variants with --only"
            )
        if kind not in PACKED:
            raise UserError(f"{name} is not up to date here, and cannot be packed; run `{repro} {name}` first")
        chosen.add(name)
        for path in map(Path, stage.dependencies):
            for producer in sorted(stage.upstream - chosen):
                if not any(
                    path.is_relative_to(out) or Path(out).is_relative_to(path) for out in stages[producer].outputs
                ):
                    continue
                if must_run(producer) or not path.exists():
                    add(producer)
                elif producer.partition("@")[0] in PACKED:
                    inputs.add(path)

    @cache
    def is_out_of_date(name: str) -> bool:
        stage = stages[name]
        return stage.changed or stage.is_new or any(map(is_out_of_date, stage.upstream))

    def must_run(name: str) -> bool:
        return is_out_of_date(name) or not chosen.isdisjoint(stages[name].upstream)

    count = -1
    while count < len(chosen):  # a stage may need one that was up to date so far
        count = len(chosen)
        for name in wanted:
            if name not in chosen and must_run(name):
                add(name)

    ordered = dict[str, None]()

    def place(name: str) -> None:
        for earlier in sorted(stages[name].upstream & chosen):
            place(earlier)
        ordered[name] = None

    for name in wanted:
        if name in chosen:
            place(name)
    made_there = [output for name in chosen for output in stages[name].outputs]
    return [*ordered], {path for path in inputs if not any(map(path.is_relative_to, made_there))}


def _steps(folder: Path, chosen: list[str], stages: dict[str, Stage]) -> list[Step]:
    declarations, steps = read_declarations(folder, chosen), []
    outputs = [output for name in chosen for output in declarations[name].outputs]
    for name in chosen:
        declaration = declarations[name]
        hashes = {
            path: digest
            for path, digest in declaration.dependencies.items()
            if not any(Path(path).is_relative_to(output) for output in outputs)
        }
        after = [other for other in chosen if other in stages[name].upstream]
        written = [*declaration.outputs]
        steps.append(Step(stage=name, command=declaration.command, dependencies=hashes, outputs=written, after=after))
    return steps


def _data_files(
    experiment: Experiment, steps: list[Step], inputs: set[Path], temporary: Path
) -> Iterator[tuple[str, Path]]:
    """Yield the plans, ids, models of text and other runs' files that steps read; `temporary` is an empty folder.

    Of the text itself, only that of test sets and contrastive sets is packed.
    """
    folder = experiment.folder.resolve()
    yield "metrics/plans/text.json", experiment.stage_plan("text")
    for variant in sorted({step.words[1] for step in steps}):
        for part in ("training", "averaging", "decoding"):
            yield f"metrics/plans/{variant}/{part}.json", experiment.plan(variant, part)
    for path in sorted(experiment.binarized.rglob("*")):
        name = path.relative_to(experiment.binarized).as_posix()
        if path.name.endswith(OFFSETS):
            lengths = temporary / LENGTHS / name
            lengths.parent.mkdir(parents=True, exist_ok=True)
            values = np.diff(np.load(path))
            np.save(lengths, values.astype(np.min_scalar_type(int(values.max(initial=0)))))
            yield f"{LENGTHS}/{name}", lengths
        elif path.is_file():
            yield path.relative_to(experiment.folder).as_posix(), path
    text = temporary / "text"
    copy_text_files(experiment.tokenized, experiment.subwords, experiment.binarized, text)
    for path in sorted(text.iterdir()):  # averaging finds the files that it copies in either folder
        for destination in ("tokenized", "subwords"):
            yield f"runs/{destination}/{path.name}", path
    corpus = BinarizedCorpus(experiment.binarized)
    for texts in (experiment.data(experiment.settings.corpus.name), experiment.tokenized, experiment.subwords):
        for name in (*corpus.tests, *corpus.contrastive):
            for path in sorted(texts.glob(f"{glob.escape(name)}.*")):
                yield path.relative_to(experiment.folder).as_posix(), path
    for path in sorted(inputs):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                yield file.relative_to(folder).as_posix(), file


def _code_files(root: Path, experiment: Experiment, steps: list[Step]) -> Iterator[tuple[str, Path]]:
    """Yield the modules that the steps can import, and those that their plans name."""
    package = root / "src/context_nmt"
    starts = [package / "pipeline/packed_runs.py"]
    starts += [root / "stages" / f"{name}.py" for name in sorted({step.words[0] for step in steps})]
    for variant in sorted({step.words[1] for step in steps}):
        for module in read_json(experiment.plan(variant, "training"))["code"]:
            path = module_file(module, root)
            if not path.is_relative_to(root):
                raise UserError(f"{module}: is not in the project; copy its file into the project's folder")
            starts.append(path)
    for name in (*closure(root, *starts), *(f"src/context_nmt/{name}" for name in UNHASHED_MODULES)):
        if not name.startswith("stages/"):
            yield name, root / name


def _commit(root: Path) -> str | None:
    """Return the commit of the project, with -dirty if files differ from it; None without git."""
    try:
        return git(root, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*").strip()
    except UserError:
        return None
