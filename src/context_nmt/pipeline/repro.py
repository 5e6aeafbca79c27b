"""Run the stages of an experiment, here or on a cluster; `dvc repro` runs them one at a time."""

import os
import sys
from collections.abc import Collection
from pathlib import Path

from context_nmt.code_closure import old_code_files
from context_nmt.files import UserError, locked
from context_nmt.pipeline.checks import check_corpus
from context_nmt.pipeline.dvc import read_stages
from context_nmt.pipeline.jobs import DONE, Job, Machine, State, check_states, jobs_of, run_jobs, stages_of
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
    """Bring the experiment in `folder` up to date, or `only` some variants.

    Run at most `jobs` stages at a time on this machine; the default is the number of GPUs, or of cores if there is
    none, and there are never more than runs. Or submit them to `slurm`, and `wait` for their end. Raise UserError if a
    stage fails, when all those that do not depend on it have ended.
    """
    experiment = Experiment(folder)
    settings = experiment.settings
    for name in only:
        if name not in settings.variants:
            known = some_names(name, settings.variants)
            raise UserError(f"--only {name!r}: no such variant in {experiment.parameters}; there are {known}")
    if wait and not slurm:
        raise UserError("--wait needs --on slurm; on this machine, the command always waits")
    if jobs and slurm:
        raise UserError(f"--jobs is {jobs}; with --on slurm, Slurm decides how many jobs run at a time")
    if slurm and only and not wait:
        raise UserError("--only with --on slurm needs --wait: the last step marks what is out of date in the tables")
    root = folder / settings.root
    launch = read_launch(experiment.parameters, root)
    machine = None if slurm else Machine(launch, jobs, len(settings.variants) * len(settings.seeds))
    cluster = Slurm(experiment)

    def divided(lost: set[str]) -> list[Job]:
        """Divide the stages that must run, but for the lost ones and those that depend on one of them."""
        stages = read_stages(folder)
        stages = stages_of(only, stages, settings) if only else stages
        for name, stage in stages.items():
            if stage.upstream & lost:
                lost.add(name)
        stages = {name: stage for name, stage in stages.items() if name not in lost}
        is_serial = machine is not None and machine.jobs == 1
        return jobs_of(stages, launch, allow_missing=allow_missing, at_once=slurm, serial=is_serial)

    def changed(names: Collection[str]) -> set[str]:
        return {name for name, stage in read_stages(folder, names).items() if stage.changed}

    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    with locked(experiment.scratch("repro.lock")), StageProcesses(os.environ | {"PATH": programs}) as processes:
        cluster.require_idle()
        if (root / "src/dvc.yaml").is_file():
            if not allow_missing:  # what there is may be up to date without it
                check_corpus(root, experiment.parameters)
            if _code_has_changed(root):  # DVC refuses the stage while one of the default experiment runs
                processes.run("code", root / "src", "repro")
            processes.run("plan", folder, "repro", "plan")
        found, states = divided(set()), dict[str, State]()
        if slurm:
            cluster.submit(found, launch)
            if found and not wait:
                return
            try:
                cluster.follow(processes.display)
            except KeyboardInterrupt:
                raise KeyboardInterrupt("the jobs go on; see context-nmt status and context-nmt cancel") from None
        while machine and not {stage for job in found for stage in job.stages} <= states.keys():
            now = dict[str, State]()
            run_jobs(found, folder, processes, now, machine=machine, changed=changed)
            states |= now
            found = divided({name for name, state in states.items() if state != DONE})
        check_states(states)
        if machine and found:
            raise UserError(
                f"{found[0].name} is out of date again, as its inputs changed meanwhile; run the same command again"
            )
    from context_nmt.results.out_of_date import old_results

    old = old_results(experiment) if only else []
    if old:
        from context_nmt.report.writing import write_report, write_tables

        # The report stage marks nothing, since its inputs do not tell old from new; for DVC it is now out of date.
        write_tables(experiment, old)
        write_report(experiment, old)
    print(f"{folder / 'dvc.yaml'}: {', '.join(only) or 'everything'} is up to date")
    from context_nmt.report.overview import print_results  # imports pandas, which takes a second

    print_results(experiment, old)


def _code_has_changed(root: Path) -> bool:
    try:
        return bool(old_code_files(root))
    except UserError:  # a file is missing, or the code cannot be read: the stage makes it, or says why
        return True
