"""Which translations are scored and compared with which: a variant's file changes when it must be done again."""

from context_nmt.files import UserError, replacing_folder, sha256, write_json
from context_nmt.settings.folder import Experiment
from context_nmt.settings.layout import Layout, run_name


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


def _outputs(experiment: Layout, variant: str, seed: int) -> dict[str, str]:
    folder = experiment.hypotheses(run_name(variant, seed))
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; the decode stage writes it")
    return {path.name: sha256(path) for path in sorted(folder.iterdir())}
