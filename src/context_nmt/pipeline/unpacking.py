"""Put results of an archive's run.py where the stages would have written them, for DVC as if they had run here."""

import gzip
import json
import shutil
import tarfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from context_nmt.code_closure import OUTDATED_MESSAGE, outdated_code_files
from context_nmt.files import UserError, locked, read_json, write_json
from context_nmt.pipeline.checks import experiments
from context_nmt.pipeline.dvc import Declaration, hash_of, read_declarations, record_outputs
from context_nmt.pipeline.packed_runs import MANIFEST, Files, Step, md5_and_size, output_files, sent_files
from context_nmt.settings.parameters import Experiment

MARGINS = "runs/contrastive/"  # folders without files, if there are no contrastive sets
BROKEN = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError)


def unpack(root: Path, archives: Sequence[Path]) -> Iterator[str]:
    """Unpack results, from one file or from its parts in their order, and yield a line per stage.

    A stage that has run here with other outputs is kept, unless it or a stage before it is out of date; stages after a
    kept one are kept, too. Raise UserError, before anything is changed, for a file that is not such an archive or was
    changed, and if the steps ran with other code, plans or ids than this project has.
    """
    name = str(archives[0]) if len(archives) == 1 else f"{archives[0]} and {len(archives) - 1} other parts"
    with ExitStack() as stack:
        file = stack.enter_context(TemporaryFile())
        for path in archives:
            if not path.is_file():
                raise UserError(f"{path}: no such file")
            with path.open("rb") as part:
                shutil.copyfileobj(part, file)
        file.seek(0)
        try:
            archive = stack.enter_context(tarfile.open(fileobj=file, mode="r|gz"))
            manifest = _read_manifest(archive)
            records = {record["step"]["stage"]: record for record in manifest["records"]}
            steps = {stage: Step(**record["step"]) for stage, record in records.items()}
            made = {path: list(value) for record in records.values() for path, value in record["outputs"].items()}
            sent = sent_files(records.values(), manifest["weights"])
            folder = _experiment(root, manifest["experiment"])
        except (*BROKEN, KeyError, TypeError, ValueError) as error:
            hint = "name all parts, in their order" if len(archives) > 1 else "or one of several parts"
            raise UserError(f"{name}: not a file of `run.py --pack-results`, {hint} ({error})") from None
        experiment = Experiment(folder)
        experiment.runs.mkdir(exist_ok=True)
        stack.enter_context(locked(experiment.scratch("repro.lock")))
        declarations = read_declarations(folder, steps)
        _check_steps(name, root, steps, declarations)
        for stage, step in steps.items():
            _check_files(name, step, records[stage]["outputs"])
        temporary = Path(stack.enter_context(TemporaryDirectory(dir=experiment.runs, prefix=".unpacked.")))
        _extract(name, archive, sent, temporary)
        stale, kept = set[str](), set[str]()  # stale: out of date here, or after one that is
        for stage, step in steps.items():
            declaration = declarations[stage]
            if declaration.changed or not stale.isdisjoint(step.after):
                stale.add(stage)
            differs = any(declaration.outputs[path] != hash_of(path, made)[0].value for path in step.outputs)
            if not kept.isdisjoint(step.after) or (differs and stage not in stale):
                kept.add(stage)
                yield f"{stage}: kept as it is here, where it has run with other outputs"
        taken = [stage for stage in steps if stage not in kept]
        for stage in taken:
            _place(folder, steps[stage], made, temporary)
        record_outputs(folder, taken, made)
        for stage in taken:
            machine = records[stage]["machine"]
            _note_machine(experiment, stage, {"commit": records[stage]["commit"], **machine})
            is_whole = sent.keys() >= records[stage]["outputs"].keys()
            yield f"{stage}: taken; {machine['processor']}{'' if is_whole else '; its weights stayed there'}"


def _read_manifest(archive: tarfile.TarFile) -> Any:
    member = archive.next()
    if member is None or member.name != MANIFEST or not member.isreg():
        raise ValueError(f"it does not start with {MANIFEST}")
    content = archive.extractfile(member)
    assert content is not None
    return json.loads(content.read())


def _experiment(root: Path, name: str) -> Path:
    for folder in experiments(root):
        if folder.relative_to(root).as_posix() == name and (folder / "params.yaml").is_file():
            return folder
    raise UserError(f"the archive is of the experiment {name}, which {root.resolve()} does not have")


def _check_steps(name: str, root: Path, steps: dict[str, Step], declarations: dict[str, Declaration]) -> None:
    """Raise UserError unless the steps ran as DVC would run them here."""
    if outdated := outdated_code_files(root):
        raise UserError(OUTDATED_MESSAGE.format(files=", ".join(outdated), root=root.resolve()))
    before = set[str]()
    for stage, step in steps.items():
        if missing := ", ".join(sorted({*step.after} - before)):
            raise UserError(f"{name}: {stage} ran after {missing}, which must be in the archive before it")
        before.add(stage)
        declaration = declarations.get(stage)
        if declaration is None or declaration.command != step.command or declaration.outputs.keys() != {*step.outputs}:
            raise UserError(
                f"{name}: {stage} is not a stage of this project's dvc.yaml and params.yaml, or another one"
            )
        written = [output for other in step.after for output in steps[other].outputs]
        for path in {**declaration.dependencies, **step.dependencies}:
            here = declaration.dependencies.get(path)
            if not _is_inside(path, written) and (not here or step.dependencies.get(path) != here):
                raise UserError(
                    f"{name}: {stage} ran with another {path} than this project"
                    f" {'has' if here else 'has, where it is missing'}; check out the commit that was packed, or bring"
                    " plans and text up to date"
                )


def _check_files(name: str, step: Step, files: Collection[str]) -> None:
    """Raise UserError unless all files are outputs of their step, and all outputs that must have files have some."""
    for path in files:
        if not _is_inside(path, step.outputs):
            raise UserError(f"{name}: {path!r} is not an output of {step.stage}")
    for output in step.outputs:
        if not output.startswith(MARGINS) and not any(_is_inside(path, [output]) for path in files):
            raise UserError(f"{name}: {step.stage} has no files of {output}")


def _is_inside(path: str, outputs: list[str]) -> bool:
    """Return whether a path is one of the outputs or a path inside one of them."""
    parts = PurePosixPath(path).parts
    return ".." not in parts and any(path == output or path.startswith(f"{output}/") for output in outputs)


def _extract(name: str, archive: tarfile.TarFile, sent: Files, folder: Path) -> None:
    """Write the members into `folder`; raise UserError unless they are the files that the steps have made."""
    missing = dict(sent)
    try:
        for member in archive:
            if member.name == MANIFEST:
                continue
            if member.name not in missing or not member.isreg():
                raise UserError(f"{name}: {member.name!r} is not a file of its steps; nothing was unpacked")
            (folder / member.name).parent.mkdir(parents=True, exist_ok=True)
            content = archive.extractfile(member)
            assert content is not None
            with (folder / member.name).open("wb") as file:
                shutil.copyfileobj(content, file)
            if md5_and_size(folder / member.name) != missing.pop(member.name):
                raise UserError(f"{name}: {member.name} is not as its step wrote it; nothing was unpacked")
    except BROKEN as error:
        raise UserError(f"{name}: damaged, or cut off ({error}); nothing was unpacked") from None
    if missing:
        raise UserError(f"{name}: lacks {', '.join(missing)}; nothing was unpacked")


def _place(folder: Path, step: Step, made: Files, temporary: Path) -> None:
    """Replace a step's outputs by those in `temporary`; remove those that stayed elsewhere and differ from these."""
    for output in step.outputs:
        expected = {path: value for path, value in made.items() if _is_inside(path, [output])}
        destination = folder / output
        if expected and output_files(folder, [output]) == expected:
            continue
        if destination.is_dir():
            shutil.rmtree(destination)
        else:
            destination.unlink(missing_ok=True)
        if (temporary / output).exists():
            destination.parent.mkdir(parents=True, exist_ok=True)
            (temporary / output).replace(destination)
        elif not expected:
            destination.mkdir(parents=True)


def _note_machine(experiment: Experiment, stage: str, machine: dict[str, Any]) -> None:
    """Add to metrics/machines/RUN.json on which machine, and with which commit, a stage has run."""
    kind, _, run = stage.partition("@")
    path = experiment.metrics / "machines" / f"{run}.json"
    earlier = read_json(path) if path.is_file() else {}
    write_json(path, earlier | {kind: machine})
