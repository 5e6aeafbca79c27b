"""Run the stages of an experiment, here or on a cluster; `dvc repro` runs them one at a time."""

import os
import sys
from collections.abc import Collection
from pathlib import Path

from context_nmt.code_closure import outdated_code_files
from context_nmt.files import UserError, locked
from context_nmt.pipeline.checks import check_before_run
from context_nmt.pipeline.dvc import Stage, read_stages
from context_nmt.pipeline.jobs import DONE, Machine, StageState, check_states, run_stages, stages_of, stages_to_run
from context_nmt.pipeline.processes import StageProcesses
from context_nmt.pipeline.slurm import Slurm
from context_nmt.settings import some_names
from context_nmt.settings.launch import read_launch
from context_nmt.settings.parameters import Experiment


def reproduce(
    folder: Path,
    jobs: int | None,
    *,
    allow_missing: bool = False,
    only: Collection[str] = (),
    slurm: bool = False,
    wait: bool = False,
) -> None:
    """Bring the experiment in `folder` up to date, or `only` some systems.

    Run at most `jobs` stages at a time on this machine; the default is the number of GPUs, or of cores if there is no
    GPU, and at most the number of runs. With `slurm`, submit them instead, and `wait` until they have ended. Raise
    UserError if a stage fails, after all stages that do not depend on it have ended, and for options that contradict
    each other.
    """
    experiment = Experiment(folder)
    settings = experiment.settings
    for name in only:
        if name not in settings.systems:
            names = some_names(name, settings.systems)
            raise UserError(f"--only {name!r}: no such system in {experiment.parameters}; there are {names}")
    if wait and not slurm:
        raise UserError("--wait needs --on slurm; on this machine, the command always waits")
    if jobs and slurm:
        raise UserError(f"--jobs is {jobs}; with --on slurm, Slurm decides how many jobs run at a time")
    if slurm and only and not wait:
        raise UserError("--only with --on slurm needs --wait: the last step marks results as out of date in the tables")
    root = folder / settings.root
    launch = read_launch(experiment.parameters, root)
    machine = None if slurm else Machine(launch, jobs, len(settings.variants) * len(settings.seeds))
    cluster = Slurm(experiment)

    def choose(excluded: set[str]) -> tuple[dict[str, bool], dict[str, Stage]]:
        """Choose the stages that must run, except the excluded ones and those that depend on one of them."""
        stages = read_stages(folder)
        stages = stages_of(only, stages, settings) if only else stages
        for name, stage in stages.items():
            if stage.upstream & excluded:
                excluded.add(name)
        stages = {name: stage for name, stage in stages.items() if name not in excluded}
        return stages_to_run(stages, allow_missing=allow_missing, at_once=slurm), stages

    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    with locked(experiment.scratch("repro.lock")), StageProcesses(os.environ | {"PATH": programs}) as processes:
        cluster.require_idle()
        if (root / "src/dvc.yaml").is_file():
            check_before_run(root, folder, with_corpus=not allow_missing)  # results may be up to date without it
            if _code_has_changed(root):  # DVC refuses this stage while a stage of the default experiment runs
                processes.run("code", root / "src", "repro")
            processes.run("plan", folder, "repro", "plan")
        (chosen, stages), states = choose(set()), dict[str, StageState]()
        if slurm:
            cluster.submit(chosen, stages, launch)
            if chosen and not wait:
                return
            try:
                cluster.follow(processes.display)
            except KeyboardInterrupt:
                raise KeyboardInterrupt("the jobs continue; see context-nmt status and context-nmt cancel") from None
        while machine and not chosen.keys() <= states.keys():
            states |= run_stages(chosen, stages, folder, processes, machine)
            chosen, stages = choose({name for name, state in states.items() if state != DONE})
        check_states(states)
        if machine and chosen:
            (name, *_) = chosen
            raise UserError(f"{name} is out of date again: its inputs changed meanwhile; run the same command again")
    from context_nmt.results.out_of_date import results_out_of_date

    old = results_out_of_date(experiment) if only else []
    if old:
        from context_nmt.report.writing import write_report, write_tables

        # The report stage does not mark old results, because its inputs do not tell; for DVC it is now out of date.
        write_tables(experiment, old)
        write_report(experiment, old)
    print(f"{folder / 'dvc.yaml'}: {', '.join(only) or 'everything'} is up to date")
    from context_nmt.report.overview import print_results  # imports pandas, which takes a second

    print_results(experiment, old)


def _code_has_changed(root: Path) -> bool:
    try:
        return bool(outdated_code_files(root))
    except UserError:  # a file is missing or the code cannot be parsed: the stage writes it or reports the error
        return True
