"""Run the trainings, translations and analyses of an archive of `context-nmt pack`, on a machine without DVC.

The unpacked archive is laid out like an experiment, with the code in src/. Its run.py calls `main`. The manifest
names the packages that the steps import; this module imports none of them before it has checked that they are there.
"""

import argparse
import gzip
import hashlib
import io
import json
import platform
import shlex
import signal
import subprocess
import sys
import tarfile
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from context_nmt.command_line import Unfinished, one_line_errors
from context_nmt.files import UserError, read_json, replacing, sha256, write_json
from context_nmt.progress import say

MANIFEST = "manifest.json"
LENGTHS = "lengths"  # of sentences, in place of their offsets in runs/binarized, which hardly compress
OFFSETS = ".offsets.npy"
RECORDS = "records"  # folder of a file per step that has ended
MEBIBYTE = 2**20
CHECKPOINTS, MODELS = "runs/training/", "runs/models/"
LEFT_OUT = {"all": (), "models": (CHECKPOINTS,), "none": (CHECKPOINTS, MODELS)}  # by --weights

Files = dict[str, list[Any]]  # MD5 and size of files by path


@dataclass(frozen=True, kw_only=True)
class Step:
    """A stage of dvc.yaml that runs elsewhere; paths start at the experiment's folder."""

    stage: str  # train@transformer-1
    command: str
    dependencies: dict[str, str]  # DVC's hash of each file or folder that the checkout has
    outputs: list[str]
    after: list[str]  # the steps that write its other dependencies

    @property
    def words(self) -> list[str]:
        """The name of the stage's file, the variant, the seed and options."""
        return shlex.split(self.command)[2:]  # without "python stages"


def md5_and_size(path: Path) -> list[Any]:
    """Return what DVC records of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    return [digest, path.stat().st_size]


def output_files(folder: Path, outputs: Iterable[str]) -> Files:
    """Return the MD5 and size of each file of some outputs."""
    roots = [folder / output for output in outputs]
    paths = [path for root in roots for path in (sorted(root.rglob("*")) if root.is_dir() else [root])]
    return {path.relative_to(folder).as_posix(): md5_and_size(path) for path in paths if path.is_file()}


def sent_files(records: Iterable[dict[str, Any]], weights: str) -> Files:
    """Return the MD5 and size of each file that results have, by the records of their steps and --weights."""
    return {
        name: value
        for record in records
        for name, value in record["outputs"].items()
        if not name.startswith(LEFT_OUT[weights])
    }


class PackedRuns:
    """The folder of an unpacked archive."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = read_json(folder / MANIFEST)
        self.steps = {step["stage"]: Step(**step) for step in self.manifest["steps"]}

    def check_files(self) -> None:
        """Raise UserError if a file is not as it was packed."""
        for name, digest in self.manifest["files"].items():
            if not (self.folder / name).is_file() or sha256(self.folder / name) != digest:
                raise UserError(f"{self.folder / name}: not as it was packed; unpack the archive again")

    def check_packages(self) -> None:
        """Raise UserError if a package that the steps import is not installed."""
        missing = [f"{name}=={packed}" for name, packed in self.manifest["packages"].items() if _version(name) is None]
        if missing:
            raise UserError(f"not installed: {', '.join(missing)} (the versions of the project that was packed)")

    def write_offsets(self) -> None:
        """Write where sentences start from their lengths, as the bpe stage does."""
        import numpy as np

        from context_nmt.settings.run_layout import RunLayout

        for path in (self.folder / LENGTHS).rglob(f"*{OFFSETS}"):
            destination = RunLayout(self.folder).binarized / path.relative_to(self.folder / LENGTHS)
            with replacing(destination) as temporary, temporary.open("wb") as file:
                np.save(file, np.cumsum(np.concatenate([[0], np.load(path)]), dtype=np.int64))

    def record(self, stage: str) -> Path:
        """Return the file that is written when a step has ended."""
        return self.folder / RECORDS / f"{stage}.json"

    def has_ended(self, step: Step) -> bool:
        """Return whether a step and all before it have ended, each on the outputs that those before it have now."""
        path = self.record(step.stage)
        if not path.is_file() or not all(self.has_ended(self.steps[stage]) for stage in step.after):
            return False
        record = read_json(path)
        return record["step"] == asdict(step) and record["after"] == self._digests(step)

    def _digests(self, step: Step) -> dict[str, str]:
        return {stage: sha256(self.record(stage)) for stage in step.after}

    def run(self, device: str, only: Collection[str]) -> None:
        """Run the steps that have not ended, each in its own process; raise SystemExit with its status if it fails.

        SIGTERM is passed on, so that a training saves its state; then raise Unfinished. With `only`, run the steps of
        these variants and those that they come after.
        """
        chosen, stopped = self._steps_of(only), list[int]()
        processes: list[subprocess.Popen[bytes]] = []

        def stop(number: int, _: object) -> None:
            stopped.append(number)
            for process in processes:
                process.terminate()

        signal.signal(signal.SIGTERM, stop)
        for number, step in enumerate(chosen, start=1):
            if self.has_ended(step):
                continue
            say(f"{step.stage}: step {number} of {len(chosen)}")
            command = [sys.executable, str(self.folder / "run.py"), "--step", step.stage, "--device", device]
            processes[:] = [subprocess.Popen(command)] if not stopped else []
            for process in processes if stopped else ():  # the signal came while the process started
                process.terminate()
            status = processes[0].wait() if processes else 0
            if stopped:
                raise Unfinished(f"SIGTERM at {step.stage}; the same command continues")
            if status:
                sys.exit(status)
        say(f"all {len(chosen)} steps have ended; next: python run.py --pack-results FILE")

    def _steps_of(self, only: Collection[str]) -> list[Step]:
        variants = {step.words[1] for step in self.steps.values()}
        for name in only:
            if name not in variants:
                raise UserError(f"--only {name!r}: not in this archive; there are {', '.join(sorted(variants))}")
        chosen = set[str]()
        for step in reversed(self.steps.values()):
            if not only or step.words[1] in only or step.stage in chosen:
                chosen |= {step.stage, *step.after}
        return [step for step in self.steps.values() if step.stage in chosen]

    def run_step(self, stage: str, device: str) -> None:
        """Run one step in this process, and record its outputs with the machine.

        Raise UserError if an output of the steps before it is not as its step wrote it.
        """
        import torch

        from context_nmt.models.devices import device_named, processor_name

        step = self.steps[stage]
        for earlier in step.after:
            self._check_outputs(read_json(self.record(earlier))["outputs"])
        self.record(stage).unlink(missing_ok=True)
        after = self._digests(step)
        _run_stage(self.folder, step.words, device)
        machine = {"processor": processor_name(device_named(device)), "python": platform.python_version()}
        machine |= {name: _version(name) for name in self.manifest["packages"]}
        machine |= {"torch": torch.__version__, "system": platform.platform()}
        files = output_files(self.folder, step.outputs)
        record = {"step": asdict(step), "after": after, "outputs": files, "machine": machine}
        write_json(self.record(stage), record | {"commit": self.manifest["commit"]})

    def _check_outputs(self, files: Files) -> None:
        for name, expected in files.items():
            if not (self.folder / name).is_file() or md5_and_size(self.folder / name) != expected:
                raise UserError(
                    f"{self.folder / name}: not as its step wrote it; remove the step's file in"
                    f" {self.folder / RECORDS} and run python run.py, which runs the step again"
                )

    def pack_results(self, output: Path, weights: str, part_size: int | None) -> None:
        """Write what the ended steps have made to a tar file, or to parts FILE.001, … of at most `part_size` MiB.

        Raise UserError if no step has ended, or if one of these files is not as its step wrote it.
        """
        records = [read_json(self.record(name)) for name, step in self.steps.items() if self.has_ended(step)]
        if not records:
            raise UserError(f"{self.folder / RECORDS}: no step has ended yet; run python run.py")
        files = sent_files(records, weights)
        self._check_outputs(files)
        manifest = {"experiment": self.manifest["experiment"], "weights": weights, "records": records}
        for part in output.parent.glob(f"{output.name}.[0-9][0-9][0-9]"):
            part.unlink()  # of an earlier call
        with replacing(output) as temporary, gzip.open(temporary, "wb", compresslevel=6) as file:
            write_archive(file, {MANIFEST: json.dumps(manifest).encode()}, {n: self.folder / n for n in files})
        paths = split(output, part_size * MEBIBYTE) if part_size else [output]
        say(f"written: {', '.join(map(str, paths))}: {len(records)} of {len(self.steps)} steps")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _run_stage(folder: Path, words: list[str], device: str) -> None:
    """Do what a stage of stages/ does, without typer."""
    from context_nmt.settings.run_layout import RunLayout

    name, variant, number, *options = words
    experiment, seed = RunLayout(folder), int(number)
    if name == "train":
        from context_nmt.training.trainer import train_run

        start = options[options.index("--start") + 1] if "--start" in options else None
        train_run(experiment, variant, seed, device=device, start=start)
    elif name == "average":
        from context_nmt.models.averaging import average_run

        average_run(experiment, variant, seed)
    elif name == "decode":
        from context_nmt.decoding.decoding_run import decode_run

        decode_run(experiment, variant, seed, device=device)
    elif name == "contrast":
        from context_nmt.measures.given_translations import contrast_run
        from context_nmt.settings.layout import Layout

        contrast_run(Layout(folder), variant, seed, device=device)
    else:
        from context_nmt.measures.analyses import analyse_run
        from context_nmt.measures.evaluation_folder import EvaluationFolder

        analyse_run(EvaluationFolder(folder), variant, seed, device=device)


def write_archive(output: Any, contents: dict[str, bytes], files: dict[str, Path]) -> None:
    """Write a tar file without dates and owners to a binary file."""
    with tarfile.open(fileobj=output, mode="w|") as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for name, path in files.items():
            member = tarfile.TarInfo(name)
            member.size = path.stat().st_size
            with path.open("rb") as file:
                archive.addfile(member, file)


def split(path: Path, size: int) -> list[Path]:
    """Replace a file by parts of at most `size` bytes, PATH.001 and so on."""
    parts = list[Path]()
    with path.open("rb") as file:
        while content := file.read(size):
            parts.append(path.with_name(f"{path.name}.{len(parts) + 1:03d}"))
            with replacing(parts[-1]) as temporary:
                temporary.write_bytes(content)
    path.unlink()
    return parts


def main(folder: Path) -> None:
    """Parse the arguments of run.py, and run or pack; errors are those of `one_line_errors`."""
    parser = argparse.ArgumentParser(prog="python run.py", description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="auto", help="cpu, cuda, cuda:1, …; auto takes a GPU if there is one")
    parser.add_argument("--only", action="append", default=[], metavar="VARIANT", help="can be repeated")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--pack-results", type=Path, metavar="FILE", help="write what the ended steps made")
    parser.add_argument("--weights", choices=LEFT_OUT, default="models", help="models: without checkpoints")
    parser.add_argument("--part-size", type=int, metavar="MIB", help="write parts of at most this size: FILE.001, …")
    options = parser.parse_args()
    with one_line_errors():
        packed = PackedRuns(folder)
        if options.pack_results:
            packed.pack_results(options.pack_results, options.weights, options.part_size)
        elif options.step:
            packed.run_step(options.step, options.device)
        else:
            packed.check_files()
            packed.check_packages()
            packed.write_offsets()
            packed.run(options.device, options.only)
