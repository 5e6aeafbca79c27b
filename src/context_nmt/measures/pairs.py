"""Which translations are scored and compared with which; a variant's file changes when its scores are out of date."""

from context_nmt.corpus.hypotheses import digests
from context_nmt.files import replacing_folder, write_json
from context_nmt.settings.folder import Experiment
from context_nmt.settings.layout import run_name


def write_pairs(experiment: Experiment) -> None:
    """Write runs/pairs/VARIANT.json for all variants of params.yaml, with the hashes of the translations concerned.

    {"baseline": VARIANT or null, "runs": {SEED: {"system", "baseline": hashes by test set, or null}}}
    """
    settings = experiment.settings
    with replacing_folder(experiment.runs / "pairs") as folder:
        for name, variant in settings.variants.items():
            roles = {"system": name, "baseline": variant.baseline}
            runs = {
                str(seed): {
                    role: own and digests(experiment.hypotheses(run_name(own, seed))) for role, own in roles.items()
                }
                for seed in settings.seeds
            }
            write_json(folder / f"{name}.json", {"baseline": variant.baseline, "runs": runs})
