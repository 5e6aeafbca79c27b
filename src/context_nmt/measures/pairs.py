"""The pairs of translations to score and compare: a system's file changes whenever one of its translations does."""

from typing import Any

from context_nmt.corpus.hypotheses import digests
from context_nmt.files import replacing_folder, write_json
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.run_layout import run_name


def write_pairs(experiment: Experiment) -> None:
    """Write runs/pairs/SYSTEM.json for all systems of params.yaml that have translations; see `system_pairs`."""
    with replacing_folder(experiment.runs / "pairs") as folder:
        for name in experiment.settings.systems:
            if pairs := system_pairs(experiment, name):
                write_json(folder / f"{name}.json", pairs)


def system_pairs(experiment: Experiment, system: str) -> dict[str, Any] | None:
    """Return {"baseline": SYSTEM or null, "runs": {SEED: {"system", "baseline": hashes by test set, or null}}}.

    Return None if translations are missing.
    """
    baseline = experiment.settings.systems[system].baseline
    files = {
        str(seed): {
            role: name and experiment.hypotheses(run_name(name, seed))
            for role, name in (("system", system), ("baseline", baseline))
        }
        for seed in experiment.settings.seeds
    }
    if not all(path.is_file() for roles in files.values() for path in roles.values() if path):
        return None
    runs = {seed: {role: path and digests(path) for role, path in roles.items()} for seed, roles in files.items()}
    return {"baseline": baseline, "runs": runs}
