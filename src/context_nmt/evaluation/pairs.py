"""Which hypotheses are compared with which: a file per run that changes when its comparison must be done again."""

from pathlib import Path
from typing import Any

from context_nmt.experiment import Experiment, run_name
from context_nmt.files import UserError, replacing_folder, sha256, write_json


def write_pairs(experiment: Experiment) -> None:
    """Write `metrics/pairs/VARIANT-SEED.json` for all runs of params.yaml: the test, and the hashes of both outputs."""
    settings = experiment.settings
    with replacing_folder(experiment.metrics / "pairs") as folder:
        for name, variant in settings.variants.items():
            for seed in settings.seeds:
                baseline = run_name(variant.baseline, seed) if variant.baseline else None
                pair = {
                    "test": variant.test,
                    "system": _outputs(experiment.hypotheses(run_name(name, seed))),
                    "baseline": _outputs(experiment.hypotheses(baseline)) if baseline else None,
                }
                write_json(folder / f"{run_name(name, seed)}.json", pair)


def _outputs(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; the detokenize stage writes it")
    return {"run": folder.name, "sha256": {path.name: sha256(path) for path in sorted(folder.iterdir())}}
