"""Which translations are scored and compared with which: a variant's file changes when it must be done again."""

from typing import Any

from context_nmt.experiment import Experiment
from context_nmt.files import UserError, read_json, replacing_folder, sha256, write_json
from context_nmt.layout import Layout, run_name

Pairs = dict[str, Any]


def write_pairs(experiment: Experiment) -> None:
    """Write metrics/pairs/VARIANT.json for all variants of params.yaml, with the hashes of all outputs concerned.

    {"baseline": VARIANT or null, "test": "bootstrap" or "sign", "runs": {SEED: {"system", "baseline": FILES or null}}}
    """
    settings = experiment.settings
    with replacing_folder(experiment.metrics / "pairs") as folder:
        for name, variant in settings.variants.items():
            runs = {
                str(seed): {
                    "system": _outputs(experiment, name, seed),
                    "baseline": _outputs(experiment, variant.baseline, seed) if variant.baseline else None,
                }
                for seed in settings.seeds
            }
            write_json(folder / f"{name}.json", {"baseline": variant.baseline, "test": variant.test, "runs": runs})


def read_pairs(experiment: Layout, variant: str) -> tuple[list[int], Pairs]:
    """The seeds of a variant, and its pairs; raises UserError for an unknown variant."""
    path = experiment.pairs(variant)
    if not path.is_file():
        known = ", ".join(sorted(found.stem for found in path.parent.glob("*.json")))
        raise UserError(f"no variant {variant!r} in {path.parent}; there are {known}. The pair stage writes them")
    pairs = read_json(path)
    return [int(seed) for seed in pairs["runs"]], pairs


def _outputs(experiment: Layout, variant: str, seed: int) -> dict[str, str]:
    folder = experiment.hypotheses(run_name(variant, seed))
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; the decode stage writes it")
    return {path.name: sha256(path) for path in sorted(folder.iterdir())}
