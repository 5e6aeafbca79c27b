"""The pairs of translations to score and compare: a variant's file changes whenever one of its translations does."""

from typing import Any

from context_nmt.corpus.hypotheses import digests
from context_nmt.files import replacing_folder, write_json
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.run_layout import run_name


def write_pairs(experiment: Experiment) -> None:
    """Write runs/pairs/VARIANT.json for all variants of params.yaml that have been decoded; see `variant_pairs`."""
    with replacing_folder(experiment.runs / "pairs") as folder:
        for name in experiment.settings.variants:
            if pairs := variant_pairs(experiment, name):
                write_json(folder / f"{name}.json", pairs)


def variant_pairs(experiment: Experiment, variant: str) -> dict[str, Any] | None:
    """Return {"baseline": VARIANT or null, "runs": {SEED: {"system", "baseline": hashes by test set, or null}}}.

    Return None if translations are missing.
    """
    baseline = experiment.settings.variants[variant].baseline
    files = {
        str(seed): {
            role: name and experiment.hypotheses(run_name(name, seed))
            for role, name in (("system", variant), ("baseline", baseline))
        }
        for seed in experiment.settings.seeds
    }
    if not all(path.is_file() for roles in files.values() for path in roles.values() if path):
        return None
    runs = {seed: {role: path and digests(path) for role, path in roles.items()} for seed, roles in files.items()}
    return {"baseline": baseline, "runs": runs}
