"""The pairs of runs to score and compare: a variant's file changes whenever a translation or an outcome does."""

from typing import Any

from context_nmt.corpus.hypotheses import digests
from context_nmt.files import replacing_folder, write_json
from context_nmt.measures.contrastive import outcome_digests
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.run_layout import run_name


def write_pairs(experiment: Experiment) -> None:
    """Write runs/pairs/VARIANT.json for all variants of params.yaml that have been decoded; see `variant_pairs`."""
    with replacing_folder(experiment.runs / "pairs") as folder:
        for name in experiment.settings.variants:
            if pairs := variant_pairs(experiment, name):
                write_json(folder / f"{name}.json", pairs)


def variant_pairs(experiment: Experiment, variant: str) -> dict[str, Any] | None:
    """Return {"baseline": VARIANT or null, "runs": {SEED: {"system", "baseline": hashes by set, or null}}}.

    The hashes are of the translations of test sets and, if there is a baseline, of the outcomes on contrastive sets.
    Return None if translations are missing.
    """
    baseline = experiment.settings.variants[variant].baseline
    runs = {
        str(seed): {role: name and run_name(name, seed) for role, name in (("system", variant), ("baseline", baseline))}
        for seed in experiment.settings.seeds
    }
    if not all(experiment.hypotheses(run).is_file() for roles in runs.values() for run in roles.values() if run):
        return None

    def hashes(run: str) -> dict[str, str]:
        return digests(experiment.hypotheses(run)) | (
            outcome_digests(experiment.contrastive_outcomes(run)) if baseline else {}
        )

    return {
        "baseline": baseline,
        "runs": {seed: {role: run and hashes(run) for role, run in roles.items()} for seed, roles in runs.items()},
    }
