"""The pairs of translations to score and compare; a variant's file changes with these translations."""

from typing import Any

from context_nmt.corpus.hypotheses import digests
from context_nmt.files import replacing_folder, write_json
from context_nmt.settings.folder import Experiment
from context_nmt.settings.run_layout import run_name


def write_pairs(experiment: Experiment) -> None:
    """Write runs/pairs/VARIANT.json for all variants of params.yaml that have been decoded; see `pairs_of`."""
    settings = experiment.settings
    with replacing_folder(experiment.runs / "pairs") as folder:
        for name, variant in settings.variants.items():
            runs = [run_name(system, seed) for system in (name, variant.baseline) if system for seed in settings.seeds]
            if all(experiment.hypotheses(run).is_file() for run in runs):
                write_json(folder / f"{name}.json", pairs_of(experiment, name))


def pairs_of(experiment: Experiment, variant: str) -> dict[str, Any]:
    """Return {"baseline": VARIANT or null, "runs": {SEED: {"system", "baseline": hashes by test set, or null}}}.

    Raise UserError for missing translations.
    """
    baseline = experiment.settings.variants[variant].baseline
    roles = {"system": variant, "baseline": baseline}
    runs = {
        str(seed): {role: name and digests(experiment.hypotheses(run_name(name, seed))) for role, name in roles.items()}
        for seed in experiment.settings.seeds
    }
    return {"baseline": baseline, "runs": runs}
