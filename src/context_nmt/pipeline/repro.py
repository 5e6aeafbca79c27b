"""Run the outdated stages of an experiment, here or on a cluster; `dvc repro` runs them one at a time."""

import os
import sys
from collections.abc import Collection
from pathlib import Path

from context_nmt.code_closure import old_code_files
from context_nmt.files import UserError, locked
from context_nmt.pipeline.checks import check_corpus
from context_nmt.pipeline.children import Children
from context_nmt.pipeline.graph import read_stages, stages_of
from context_nmt.pipeline.local import Machine, run_here
from context_nmt.pipeline.scheduler import Scheduler
from context_nmt.pipeline.slurm import Slurm
from context_nmt.settings.checking import some_names
from context_nmt.settings.folder import Experiment
from context_nmt.settings.launch import read_launch


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
    launch = read_launch(experiment.parameters, folder / settings.root)
    machine = None if slurm else Machine(launch, jobs, len(settings.variants) * len(settings.seeds))
    cluster = Slurm(experiment)
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    option = ["--allow-missing"] if allow_missing else []
    with locked(experiment.scratch("repro.lock")), Children(os.environ | {"PATH": programs}) as children:
        cluster.require_idle()
        root = folder / settings.root
        if (root / "src/dvc.yaml").is_file():
            if not allow_missing:  # what there is may be up to date without it
                check_corpus(root, experiment.parameters)
            if _code_has_changed(root):  # DVC refuses the stage while one of the default experiment runs
                children.run("code", root / "src", "repro")
            children.run("plan", folder, "repro", "plan")
        stages = read_stages(folder)
        stages = stages_of(only, stages, settings) if only else stages
        serial = machine is not None and machine.jobs == 1
        scheduler = Scheduler(stages, experiment, launch, allow_missing=allow_missing, serial=serial)
        if machine:
            run_here(scheduler, machine, children, folder)
            if scheduler.ran and not only:
                children.run("dvc repro", folder, "repro", *option)  # a final check by DVC itself
        else:
            cluster.submit(scheduler)
            if wait:
                try:
                    cluster.follow(children.display)
                except KeyboardInterrupt:
                    raise KeyboardInterrupt("the jobs go on; see context-nmt status and context-nmt cancel") from None
    if slurm and not wait and scheduler.unfinished:
        return
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
