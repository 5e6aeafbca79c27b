"""How stages are started, and the resources that each needs; results do not depend on it."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_nmt.files import UserError, read_yaml
from context_nmt.settings import Checked, NonNegativeInteger, PositiveInteger, PositiveNumber, check, require

CLUSTER_FILE = "launch.yaml"  # in the project's folder, not in git: `launch` for the machines of this clone
LAUNCH_KEYS = {"train": "train", "probe": "probe"} | dict.fromkeys(
    ("decode", "distill", "rescore", "contrast", "analyse"), "decode"
)
# Options of sbatch that would break the order of jobs or the records of them.
RESERVED_OPTIONS = {
    "--array",
    "-a",
    "--dependency",
    "-d",
    "--job-name",
    "-J",
    "--output",
    "-o",
    "--chdir",
    "-D",
    "--signal",
}


def launch_key(stage: str) -> str:
    """Return the key under `launch` for a stage of dvc.yaml, whose name may have a suffix: train_document@x."""
    return LAUNCH_KEYS.get(stage.partition("@")[0].partition("_")[0], "text")


@dataclass(frozen=True, kw_only=True)
class JobSettings(Checked):
    """The command that starts stages, and the resources they need; a string is short for `command`."""

    command: str = "python"  # python, env OMP_NUM_THREADS=1 python, torchrun --nproc-per-node 8, …
    gpus: NonNegativeInteger | None = None  # on each node; by default 1 if the machine has any, but 0 for text
    cores: PositiveInteger | None = None  # on each node; by default an equal share of the machine's cores
    memory: str | None = None  # on each node, such as 64G; only for Slurm, like all keys below
    hours: PositiveNumber | None = None  # time limit; a training continues in a new job, any other stage fails
    partition: str | None = None  # by default the cluster's default partition
    nodes: PositiveInteger = 1  # for torchrun under srun
    options: str = ""  # more options of sbatch, such as --account nmt --constraint a100

    def __post_init__(self) -> None:
        words = _words("command", self.command, "it must be a command")
        require(words != [] and "\n" not in self.command, f"command is {self.command!r}; it must be a command")
        options = _words("options", self.options, "they must be options of sbatch")
        reserved = sorted(RESERVED_OPTIONS.intersection(option.partition("=")[0] for option in options))
        require(
            not reserved,
            f"options is {self.options!r}; {', '.join(reserved)} cannot be set, as jobs depend on each other",
        )


def _words(key: str, text: str, expected: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ValueError(f"{key} is {text!r}; {expected} ({error})") from None


@dataclass(frozen=True, kw_only=True)
class LaunchSettings(Checked):
    """A command with the resources it needs, for each kind of stage; changing them reruns nothing."""

    train: JobSettings = JobSettings()  # all trainings
    decode: JobSettings = JobSettings()  # decode, distill, rescore, contrast and analyse
    probe: JobSettings = JobSettings()  # the probes, in one process
    text: JobSettings = JobSettings()  # all other stages; they use no GPU
    tensorboard: bool = False  # trainings also write their curves to runs/tensorboard, for TensorBoard

    def for_stage(self, stage: str) -> JobSettings:
        """Return the settings for a stage of dvc.yaml."""
        settings: JobSettings = getattr(self, launch_key(stage))
        return settings


def with_commands(launch: Any) -> Any:
    """Return the values under `launch`, with each string replaced by {command: STRING}."""
    if not isinstance(launch, dict):
        return launch
    return {key: {"command": value} if isinstance(value, str) else value for key, value in launch.items()}


def read_launch(parameters: Path, project: Path) -> LaunchSettings:
    """Read `launch` of params.yaml, if the file exists, overridden by launch.yaml; raise UserError for a wrong key."""
    launch: dict[str, Any] = {}
    for path in (parameters, project / CLUSTER_FILE):
        values = read_yaml(path) if path.is_file() else {"launch": {}}
        if path.name == CLUSTER_FILE and (not isinstance(values, dict) or set(values) != {"launch"}):
            raise UserError(f"{path}: must have the key launch and no other")
        # The plan stage refuses a list, which has no keys.
        overrides = with_commands(values.get("launch") or {} if isinstance(values, dict) else {})
        check(LaunchSettings, overrides, where=str(path), key="launch")
        for key, value in overrides.items():
            both_tables = isinstance(value, dict) and isinstance(launch.get(key), dict)
            launch[key] = launch[key] | value if both_tables else value
    return check(LaunchSettings, launch, where=str(parameters), key="launch")
