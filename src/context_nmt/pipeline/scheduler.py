"""Decide which of an experiment's stages must run, which can start, and which can share a process.

DVC decides which stages have changed, once. With `allow_missing`, a missing file is made again only where a stage that
runs needs it: a clone without the cache trains only a new variant.
"""

import os
from collections.abc import Callable, Iterable, Iterator

import yaml

from context_nmt.pipeline.graph import Stage
from context_nmt.settings.folder import Experiment
from context_nmt.settings.launch import LaunchSettings, launch_key


class Scheduler:
    """Decides which stages must run and which can start; what depends on a stage that failed does not."""

    def __init__(
        self,
        stages: dict[str, Stage],
        experiment: Experiment,
        launch: LaunchSettings,
        *,
        allow_missing: bool,
        serial: bool,
    ) -> None:
        self.stages, self.experiment, self.launch, self.serial = stages, experiment, launch, serial
        self.needed: set[str] = set()
        self.missing: set[str] = set()  # stages that DVC must not take as up to date though their outputs are missing
        self.running: dict[str, tuple[str, ...]] = {}  # the first stage of a chain -> all of them
        self.ran: list[str] = []
        self.failed: set[str] = set()
        self._downstream: dict[str, set[str]] = {name: set() for name in stages}
        for name in reversed(stages):
            for upstream_name in stages[name].upstream:
                self._downstream[upstream_name] |= {name, *self._downstream[name]}
        self._hashes = self._output_hashes()
        for name, stage in stages.items():
            upstream_outputs = [path for upstream_name in stage.upstream for path in stages[upstream_name].outputs]
            own_paths = [
                *stage.outputs,
                *(path for path in stage.dependencies if not _overlap([path], upstream_outputs)),
            ]
            is_missing = not all(map(os.path.exists, own_paths))
            # A changed stage can turn out unchanged once the stages upstream have run. DVC reports a new stage without
            # dependencies as missing, not as changed.
            if name not in self._hashes or (is_missing and (stage.changed or not allow_missing)):
                self.missing.add(name)
            if stage.changed or name in self.missing:
                self._need(name)

    @property
    def unfinished(self) -> set[str]:
        """The stages that must run and still can."""
        return self.needed - set(self.ran) - self.failed - self.given_up

    @property
    def given_up(self) -> set[str]:
        """The stages that depend on one that failed."""
        return set().union(*(self._downstream[name] for name in self.failed))

    def next_chains(self, fits: Callable[[tuple[str, ...]], bool]) -> Iterator[tuple[str, ...]]:
        """Yield chains of stages that can start now and that fit; those with the most stages downstream first."""
        blocked = set().union(*(self._downstream[name] for name in self.unfinished | self._busy))
        ready = [name for name in self.stages if name in self.unfinished - blocked]
        for name in sorted(ready, key=lambda name: -len(self._downstream[name])):
            if name in self._busy:  # from before, or since a chain before it took it
                continue
            chain = self._chain(name)
            if fits(chain):
                self.running[name] = chain
                yield chain

    def finish(self, name: str, failed: str | None = None) -> None:
        """Record that a chain has ended, at a stage that failed or at its last one.

        Stages that depend on changed outputs must run, too.
        """
        chain = self.running.pop(name)
        if failed is not None:
            failed = failed if failed in chain else name
            self.failed.add(failed)
            chain = chain[: chain.index(failed)]
        hashes = self._output_hashes()
        for finished in chain:
            old_hashes, new_hashes = self._hashes.get(finished, {}), hashes.get(finished, {})
            changed = [path for path in new_hashes if new_hashes[path] != old_hashes.get(path)]
            for downstream in self._downstream[finished]:
                stage = self.stages[downstream]
                if finished in stage.upstream and downstream not in chain and _overlap(stage.dependencies, changed):
                    self._need(downstream)
        self._hashes |= {finished: hashes[finished] for finished in chain if finished in hashes}  # others may still run
        self.ran += chain
        self.needed |= set(chain)

    def _need(self, name: str) -> None:
        self.needed.add(name)
        self._need_inputs(name)

    def _need_inputs(self, name: str) -> None:
        """Let the stages upstream make what a stage lacks."""
        missing_paths = [path for path in self.stages[name].dependencies if not os.path.exists(path)]
        for upstream_name in self.stages[name].upstream - self.needed:
            if _overlap(self.stages[upstream_name].outputs, missing_paths):
                self.missing.add(upstream_name)
                self._need(upstream_name)

    @property
    def _busy(self) -> set[str]:
        """The stages of running chains."""
        return {name for chain in self.running.values() for name in chain}

    def _chain(self, first: str) -> tuple[str, ...]:
        """Return a stage and those that can follow it in one DVC process, which skips unchanged ones.

        These are stages of the same run or, where stages run one at a time, of any.
        """
        chain = [first]
        _, _, run = first.partition("@")
        unfinished = self.unfinished.union(*(self._downstream[name] for name in self.unfinished))
        excluded = self.given_up | self._busy
        for name, stage in self.stages.items():
            follows = self.serial or (run and name.endswith(f"@{run}"))
            may_run = name in self.unfinished or any(name in self._downstream[member] for member in chain)
            if follows and may_run and name != first and self._fits(name, first) and name not in excluded:
                chain_outputs = [path for member in chain for path in self.stages[member].outputs]
                dependencies_exist = all(
                    os.path.exists(path) or _overlap([path], chain_outputs) for path in stage.dependencies
                )
                if dependencies_exist and stage.upstream & unfinished <= set(chain):
                    chain.append(name)
        return tuple(chain)

    def jobs(self) -> list[tuple[list[str], list[int]]]:
        """Divide stages into jobs: the stages of each, and the indices of the jobs that it depends on.

        These are the stages that must run, or must if one upstream comes out differently. A stage joins a job of its
        run that already waits for all that it depends on. So `average` hashes checkpoints where they were made, and
        removes the training's state before another training begins.
        """
        jobs: list[list[str]] = []
        after: list[set[int]] = []
        job_of: dict[str, int] = {}
        possible = set[str]()
        while self.needed - possible:
            possible = self.needed.union(*(self._downstream[name] for name in self.needed))
            for name in possible:
                self._need_inputs(name)
        for name in filter(possible.__contains__, self.stages):
            run = name.partition("@")[2]
            needed = {job_of[upstream] for upstream in self.stages[name].upstream if upstream in job_of}
            for index, stages in enumerate(jobs):
                same_run = run == stages[0].partition("@")[2]
                if same_run and self._fits(name, stages[0]) and needed <= {index} | after[index]:
                    break
            else:
                index = len(jobs)
                jobs.append([])
                after.append(needed.union(*(after[other] for other in needed)))
            jobs[index].append(name)
            job_of[name] = index
        direct = [indices - set().union(*(after[other] for other in indices)) for indices in after]
        return [(stages, sorted(indices)) for stages, indices in zip(jobs, direct, strict=True)]

    def _fits(self, name: str, first: str) -> bool:
        """Return whether a stage can run in the process of another, with its --allow-missing and what it needs."""
        same_option = (name in self.missing) == (first in self.missing)
        return same_option and (launch_key(name) == "text" or self.launch.of(name).needs == self.launch.of(first).needs)

    def _output_hashes(self) -> dict[str, dict[str, str]]:
        """Return the hash of each output of each stage in dvc.lock, by its absolute path."""
        if not self.experiment.lock.is_file():
            return {}
        folder = self.experiment.folder.resolve()
        # All values as text, which YAML's versions read alike; PyYAML reads them three times as fast as ruamel.yaml.
        stages = yaml.load(self.experiment.lock.read_text(encoding="utf-8"), Loader=yaml.CBaseLoader)["stages"]  # noqa: S506
        return {
            name: {str(folder / out["path"]): out["md5"] for out in stage.get("outs", [])}
            for name, stage in stages.items()
        }


def _overlap(these: Iterable[str], those: Iterable[str]) -> bool:
    """Return whether any path of one group equals, contains or lies inside a path of the other."""
    return any(a == b or a.startswith(f"{b}{os.sep}") or b.startswith(f"{a}{os.sep}") for a in these for b in those)
