"""Where everything of one experiment lies: `Experiment(folder)` is the only place that knows the layout.

params.yaml  dvc.yaml  dvc.lock
metrics/                        small files, kept in git
    plans/VARIANT/{training,decoding,averaging}.json
    curves/VARIANT-SEED.csv     learning curves
    hypotheses/VARIANT-SEED/TEST.{tokenized,detokenized}.txt
    scores/VARIANT-SEED.json    pairs/VARIANT-SEED.json    significance/VARIANT-SEED.json    models.json
    contrastive/VARIANT-SEED.json    accuracies on contrastive sets
    hypotheses/rescored/  scores/rescored/    the same of what a teacher chose, see `rescored_name`
    analyses/VARIANT-SEED.json  what was read off a run by hooks
    analyses/sentences/VARIANT-SEED.json    analyses/words/VARIANT-SEED.json    what probes have found
    discourse/VARIANT-SEED.json pronouns, nouns, cohesion and coherence of translated documents
    results.json  results.md  results.csv  analyses.md  analyses.csv  papers.md  papers.csv  figures/  discourse.md
    probes.md
    focus.json                  the results of one variant, for `dvc metrics diff`
reports/                        report.html  report.md  tables/  figures/, also kept in git
runs/                           large files, kept in the DVC cache
    tokenized/  subwords/  binarized/
    distilled/                  the teacher's translations of the training source
    training/VARIANT-SEED/      checkpoints
    models/VARIANT-SEED/        one run, complete: weights, settings and what its text needs
    decoded/VARIANT-SEED/       TEST.subwords.txt
    contrastive/VARIANT-SEED/   SET.tsv, how each item of a contrastive set came out
    probing/VARIANT-SEED/       TASK.safetensors, what a run's encoder makes of the probing tasks' sentences
    scratch/VARIANT-SEED/       what a training resumes from, until its checkpoints are averaged; not cached
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from context_nmt.files import UserError
from context_nmt.settings import ExperimentSettings


def run_name(variant: str, seed: int) -> str:
    """The name of one run: a variant with a seed."""
    return f"{variant}-{seed}"


def experiment_folder(given: Path) -> Path:
    """The folder of an experiment that is given as it is or by its name in `experiments/`; raises UserError."""
    for folder in (given, "experiments" / given):
        if (folder / "params.yaml").is_file():
            return folder
    known = ", ".join(sorted(path.parent.name for path in Path("experiments").glob("*/params.yaml")))
    raise UserError(f"{given}: no experiment (no params.yaml); in experiments/ there are {known or 'none'}")


def rescored_name(run: str) -> str:
    """The name under which the translations lie that a teacher chose among a run's candidates."""
    return f"rescored/{run}"


@dataclass(frozen=True)
class Experiment:
    """One folder with a params.yaml; paths are relative to the current folder as `folder` is."""

    folder: Path = Path()

    @cached_property
    def settings(self) -> ExperimentSettings:
        """The checked params.yaml; raises UserError."""
        from context_nmt.parameters import read_parameters  # training and decoding run without its library

        return read_parameters(self.parameters)

    @property
    def parameters(self) -> Path:
        return self.folder / "params.yaml"

    @property
    def metrics(self) -> Path:
        return self.folder / "metrics"

    @property
    def reports(self) -> Path:
        return self.folder / "reports"

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    @property
    def corpus(self) -> Path:
        """The folder of raw text, `ROOT/data/NAME`."""
        return self.folder / self.settings.root / "data" / self.settings.corpus.name

    @property
    def probing_tasks(self) -> Path:
        """The folder of probing tasks, `ROOT/data/TASKS`."""
        return self.folder / self.settings.root / "data" / str(self.settings.probing.tasks)

    @property
    def speeds(self) -> Path:
        """How fast variants are, `ROOT/benchmarks/variants.json`."""
        return self.folder / self.settings.root / "benchmarks" / "variants.json"

    @property
    def tokenized(self) -> Path:
        return self.runs / "tokenized"

    @property
    def subwords(self) -> Path:
        return self.runs / "subwords"

    @property
    def binarized(self) -> Path:
        return self.runs / "binarized"

    @property
    def distilled(self) -> Path:
        """The training target as the teacher has it."""
        return self.runs / "distilled"

    def plan(self, variant: str, part: str) -> Path:
        """`part` is training, averaging or decoding."""
        return self.metrics / "plans" / variant / f"{part}.json"

    def with_plan_of(self, variant: str) -> "Experiment":
        """The same; raises UserError, with the names that there are, if others have plans and this variant has none."""
        plans = self.metrics / "plans"
        planned = sorted(path.name for path in plans.glob("*/"))
        if planned and variant not in planned:
            raise UserError(
                f"no variant {variant!r} in {plans}; there are {', '.join(planned)}. The plan stage writes those that"
                " params.yaml has under variants"
            )
        return self

    def checkpoints(self, run: str) -> Path:
        return self.runs / "training" / run

    def scratch(self, run: str) -> Path:
        """What a training that has not been averaged yet resumes from."""
        return self.runs / "scratch" / run

    def training_lock(self, run: str) -> Path:
        """What the process holds that trains a run."""
        return self.runs / "scratch" / f"{run}.lock"

    def curve(self, run: str) -> Path:
        return self.metrics / "curves" / f"{run}.csv"

    def model(self, run: str) -> Path:
        return self.runs / "models" / run

    def decoded(self, run: str) -> Path:
        return self.runs / "decoded" / run

    def hypotheses(self, run: str) -> Path:
        return self.metrics / "hypotheses" / run

    def scores(self, run: str) -> Path:
        return self.metrics / "scores" / f"{run}.json"

    def contrastive(self, run: str) -> Path:
        return self.metrics / "contrastive" / f"{run}.json"

    def contrastive_outcomes(self, run: str) -> Path:
        return self.runs / "contrastive" / run

    def analyses(self, run: str) -> Path:
        return self.metrics / "analyses" / f"{run}.json"

    def probing(self, run: str) -> Path:
        """Features of the probing tasks' sentences."""
        return self.runs / "probing" / run

    def sentence_probes(self, run: str) -> Path:
        return self.metrics / "analyses" / "sentences" / f"{run}.json"

    def word_probes(self, run: str) -> Path:
        return self.metrics / "analyses" / "words" / f"{run}.json"

    def discourse(self, run: str) -> Path:
        return self.metrics / "discourse" / f"{run}.json"

    def significance(self, run: str) -> Path:
        return self.metrics / "significance" / f"{run}.json"
