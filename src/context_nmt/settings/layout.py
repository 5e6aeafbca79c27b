"""Where the files of one experiment are; only `Layout` knows this.

params.yaml  dvc.yaml  dvc.lock
metrics/                        small files, kept in git
    plans/data.CORPUS.json      plans/VARIANT/{training,decoding,averaging}.json
    plans/{text,units,significance,probe_sentences,probe_words}.json
    curves/VARIANT-SEED.csv     learning curves
    hypotheses/VARIANT-SEED.zip    TEST.txt, Moses tokens
    scores/VARIANT/SEED.csv     scores of translations, and tests against the baseline
    models.json
    contrastive/VARIANT-SEED.csv     accuracies on contrastive sets
    hypotheses/VARIANT.rescored-SEED.zip    scores/VARIANT.rescored/    what a teacher chose, see `rescored_name`
    analyses/VARIANT-SEED.csv   what hooks have measured inside a run
    analyses/sentences/VARIANT-SEED.csv    analyses/words/VARIANT-SEED.csv    accuracies of probes
    results.json  results.csv  results.md
    focus.json                  the results of one variant, for `dvc metrics diff`
reports/                        report.md  figures/    kept in git
    pages/                      report.html  analyses.md  discourse.md  probes.md  figures/  tables/    in the cache
data/CORPUS/                    raw text: what the download stage makes, or a user's own
runs/                           large files, kept in the DVC cache
    tokenized/  subwords/  binarized/{training,tests}/
    distilled/                  the teacher's translations of the training source
    training/VARIANT-SEED/      checkpoints
    models/VARIANT-SEED/        one run, complete: weights, settings and what its text needs
    decoded/VARIANT-SEED/       TEST.subwords.txt, TEST.nbest.jsonl
    pairs/VARIANT.json          which translations are compared with which
    contrastive/VARIANT-SEED/   SET.tsv, the outcome of each item of a contrastive set
    scratch/VARIANT-SEED/       what a training resumes from, until its checkpoints are averaged; not in the cache
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from context_nmt.files import UserError


def run_name(variant: str, seed: int) -> str:
    """The name of one run: a variant with a seed."""
    return f"{variant}-{seed}"


def rescored_name(run: str) -> str:
    """The name of the translations a teacher chose among a run's candidates: VARIANT.rescored-SEED."""
    variant, _, seed = run.rpartition("-")
    return run_name(f"{variant}.rescored", int(seed))


@dataclass(frozen=True)
class Layout:
    """One experiment's folder; paths are relative to the current folder as `folder` is."""

    folder: Path = Path()

    @property
    def parameters(self) -> Path:
        return self.folder / "params.yaml"

    @property
    def metrics(self) -> Path:
        return self.folder / "metrics"

    @property
    def models(self) -> Path:
        """Sizes and FLOPs of all variants."""
        return self.metrics / "models.json"

    @property
    def results(self) -> Path:
        return self.metrics / "results.json"

    @property
    def results_table(self) -> Path:
        return self.metrics / "results.csv"

    @property
    def results_page(self) -> Path:
        return self.metrics / "results.md"

    @property
    def focus(self) -> Path:
        """The results of one variant, for `dvc metrics diff`."""
        return self.metrics / "focus.json"

    @property
    def lock(self) -> Path:
        return self.folder / "dvc.lock"

    @property
    def reports(self) -> Path:
        return self.folder / "reports"

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

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
        """The teacher's translations of the training source."""
        return self.runs / "distilled"

    def data(self, name: str) -> Path:
        """The folder of raw text, or of probing tasks."""
        return self.folder / "data" / name

    def stage_plan(self, name: str) -> Path:
        """The plan of stages that know no variant: text, units, significance, probe_sentences or probe_words."""
        return self.metrics / "plans" / f"{name}.json"

    def data_plan(self, corpus: str) -> Path:
        return self.metrics / "plans" / f"data.{corpus}.json"

    def plan(self, variant: str, part: str) -> Path:
        """`part` is training, averaging or decoding."""
        return self.metrics / "plans" / variant / f"{part}.json"

    def plans(self, part: str) -> list[Path]:
        """The plans of all variants."""
        return sorted(self.metrics.glob(f"plans/*/{part}.json"))

    def with_plan_of(self, variant: str) -> Self:
        """Return this layout; raises UserError with all names if other variants have plans and this one has none."""
        plans = self.metrics / "plans"
        planned = sorted(path.name for path in plans.glob("*/"))
        if planned and variant not in planned:
            raise UserError(
                f"no variant {variant!r} in {plans}; there are {', '.join(planned)}. The plan stage writes those under"
                " variants in params.yaml"
            )
        return self

    def checkpoints(self, run: str) -> Path:
        return self.runs / "training" / run

    def scratch(self, run: str) -> Path:
        """What a training resumes from, until its checkpoints are averaged."""
        return self.runs / "scratch" / run

    def training_lock(self, run: str) -> Path:
        """The file that the process training a run keeps locked."""
        return self.runs / "scratch" / f"{run}.lock"

    def curve(self, run: str) -> Path:
        return self.metrics / "curves" / f"{run}.csv"

    def model(self, run: str) -> Path:
        return self.runs / "models" / run

    def decoded(self, run: str) -> Path:
        return self.runs / "decoded" / run

    def hypotheses(self, run: str) -> Path:
        return self.metrics / "hypotheses" / f"{run}.zip"

    def scores(self, run: str) -> Path:
        variant, _, seed = run.rpartition("-")
        return self.metrics / "scores" / variant / f"{seed}.csv"

    def contrastive(self, run: str) -> Path:
        return self.metrics / "contrastive" / f"{run}.csv"

    def contrastive_outcomes(self, run: str) -> Path:
        return self.runs / "contrastive" / run

    def analyses(self, run: str) -> Path:
        return self.metrics / "analyses" / f"{run}.csv"

    def sentence_probes(self, run: str) -> Path:
        return self.metrics / "analyses" / "sentences" / f"{run}.csv"

    def word_probes(self, run: str) -> Path:
        return self.metrics / "analyses" / "words" / f"{run}.csv"

    def pairs(self, variant: str) -> Path:
        """Which of a variant's translations are compared with which."""
        return self.runs / "pairs" / f"{variant}.json"
