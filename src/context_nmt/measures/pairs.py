"""The pairs of runs to score and compare: a system's file changes whenever a translation or an outcome does."""

from typing import Any

from context_nmt.corpus.hypotheses import digests
from context_nmt.files import replacing_folder, write_json
from context_nmt.measures.contrastive import outcome_digests
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.run_layout import run_name


def write_pairs(experiment: Experiment) -> None:
    """Write runs/pairs/SYSTEM.json for all systems of params.yaml that have translations; see `system_pairs`."""
    with replacing_folder(experiment.runs / "pairs") as folder:
        for name in experiment.settings.systems:
            if pairs := system_pairs(experiment, name):
                write_json(folder / f"{name}.json", pairs)


def system_pairs(experiment: Experiment, system: str) -> dict[str, Any] | None:
    """Return {"baseline": SYSTEM or null, "runs": {SEED: {"system", "baseline": hashes by set, or null}}}.

    The hashes are of the translations of test sets and, if two variants are compared, of the outcomes on contrastive
    sets. Return None if translations are missing.
    """
    baseline = experiment.settings.systems[system].baseline
    runs = {
        str(seed): {role: name and run_name(name, seed) for role, name in (("system", system), ("baseline", baseline))}
        for seed in experiment.settings.seeds
    }
    if not all(experiment.hypotheses(run).is_file() for roles in runs.values() for run in roles.values() if run):
        return None

    has_outcomes = baseline and not {system, baseline} & experiment.settings.external.keys()

    def hashes(run: str) -> dict[str, str]:
        outcomes = outcome_digests(experiment.contrastive_outcomes(run)) if has_outcomes else {}
        return digests(experiment.hypotheses(run)) | outcomes

    return {
        "baseline": baseline,
        "runs": {seed: {role: run and hashes(run) for role, run in roles.items()} for seed, roles in runs.items()},
    }
