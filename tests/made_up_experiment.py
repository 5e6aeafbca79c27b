"""An experiment of three made-up systems whose outputs, and so whose verdicts, are known."""

from copy import deepcopy
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml
from measured import write_flat
from project_root import make_root

from context_nmt.corpus.hypotheses import write_hypotheses
from context_nmt.files import write_json, write_lines
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.pairs import write_pairs
from context_nmt.measures.rows import NORMALIZED, SUMMED
from context_nmt.pipeline.planning import write_plans
from context_nmt.results import evaluation
from context_nmt.results.significance import compare
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.run_layout import run_name

REFERENCE = [f"The {number} small birds sing in tree {number % 7} today ." for number in range(40)]
RAW = [line.replace(" .", ".") for line in REFERENCE]
SYSTEMS = {"transformer": 3, "gauss": 9, "again": 3}  # every how many sentences a system errs
MADE_UP = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
PARAMETERS, SPEEDS = MADE_UP["parameters"], MADE_UP["speeds"]
COMPARISONS: dict[str, dict[str, Any]] = {}  # by what was compared


def make_experiment(folder: Path, **changes: object) -> Experiment:
    """Write params.yaml, plans, references, outputs, analyses, curves, models.json and speeds; score nothing yet."""
    experiment = Experiment(folder)
    experiment.parameters.write_text(yaml.safe_dump(PARAMETERS | changes, sort_keys=False), encoding="utf-8")
    settings = experiment.settings
    make_root(folder / settings.root)
    write_plans(experiment)
    for test in settings.corpus.tests:
        write_lines(experiment.corpus / f"{test}.de", RAW)
        write_lines(experiment.tokenized / f"{test}.de.cased", REFERENCE)
        write_lines(experiment.tokenized / f"{test}.en.cased", [line.upper() for line in REFERENCE])
    for split in (settings.corpus.train, settings.corpus.validation, *settings.corpus.tests):
        write_lines(experiment.tokenized / f"{split}.de", REFERENCE)
        write_lines(experiment.tokenized / f"{split}.en", [f"{line} too" for line in REFERENCE])
    for number, variant in enumerate(settings.variants):
        for seed in settings.seeds:
            run = run_name(variant, seed)
            write_output(experiment, run, output(SYSTEMS.get(variant, 5), seed))
            write_lines(experiment.curve(run), curve(number, seed))
            measured = measures(variant, number, seed)
            write_flat(experiment.analyses(run), dict.fromkeys(settings.corpus.tests, measured))
    write_json(
        experiment.models,
        {
            variant: {
                "kind": "autoregressive",
                "parameters": 1_000_000 * number,
                "flops_per_target_token": 6_000_000 * number,
                "slots": {"slot": [{"mechanism": variant}] * 3},
            }
            for number, variant in enumerate(settings.variants, start=1)
        },
    )
    write_json(experiment.speeds, SPEEDS)
    return experiment


def write_output(experiment: Experiment, run: str, lines: list[str], **others: list[str]) -> None:
    """Write the translations of a run: `others` by test set, of all other sets `lines`."""
    write_hypotheses(experiment.hypotheses(run), dict.fromkeys(experiment.settings.corpus.tests, lines) | others)


def evaluate_all(experiment: Experiment) -> Experiment:
    """Score and compare every run, as the stages before `report` do, but no two lists of lines twice."""
    write_pairs(experiment)
    with patch.object(evaluation, "compare", _compare_once):
        for system in experiment.settings.systems:
            evaluation.evaluate_variant(EvaluationFolder(experiment.folder), system)
    return experiment


def _compare_once(*lines_and_settings: Any, **names: str) -> dict[str, Any]:
    key = repr((lines_and_settings, names))
    if key not in COMPARISONS:
        COMPARISONS[key] = compare(*lines_and_settings, **names)
    return deepcopy(COMPARISONS[key])


def write_contrastive(experiment: Experiment) -> None:
    """Write what every run scores on the contrastive set `pronouns`; by log-probability per unit it is 10 less.

    The outcomes are of fewer items: the first system is right on 2 of 12, the second one on 10.
    """
    items = [{"right": 0, "wrong": [1], "context": [], "categories": ["cross"] * (n < 6)} for n in range(12)]
    write_json(experiment.tokenized / "pronouns.items.json", {"sha256": "0" * 64, "items": items})
    for number, variant in enumerate(experiment.settings.variants):
        for seed in experiment.settings.seeds:
            accuracies = {"all": (1500, 60 + 2 * number), "cross": (1000, 60 + 11 * number + (0.5, -0.5)[seed % 2])}
            scores = {
                f"pronouns_{category}{ending}": {"score": score - less, "signature": f"items:{items}|x"}
                for category, (items, score) in accuracies.items()
                for ending, less in (("", 0), ("_normalized", 10))
            }
            scores |= {f"items_{category}_text": items for category, (items, _) in accuracies.items()}
            run, right = run_name(variant, seed), min(2 + 8 * number, 12)
            write_flat(experiment.contrastive(run), {"pronouns": scores})
            outcomes = {SUMMED: "1" * right + "0" * (12 - right), NORMALIZED: "=" * 12}
            write_json(experiment.contrastive_outcomes(run), {"pronouns": ["0" * 64, outcomes]})


def output(every: int, seed: int) -> list[str]:
    """The reference with an error in one sentence of `every`; the second seed makes one error more."""
    lines = [
        line if number % every else line.replace("small birds", "big fish") for number, line in enumerate(REFERENCE)
    ]
    return [lines[0], lines[1].replace("sing", "sit"), *lines[2:]] if seed == 2 else lines


def measures(variant: str, number: int, seed: int) -> dict[str, float]:
    """Two layers whose entropies differ by a bit; only `gauss` is gated, and `alone` does not show its second layer."""
    shift = 0.1 * number + (0.01, -0.01)[seed % 2]
    found = {f"ngram_accuracy_{n}": 90 - 5 * n + 2 * shift for n in range(1, 11)}
    for name, first in (("locality_entropy", 1.0), ("locality_entropy_of_mean_map", 2.0)):
        found[f"{name}_1"] = first + shift
        if variant != "alone":
            found |= {f"{name}_2": first + 1 + shift, name: first + 0.5 + shift}
    if variant == "gauss":
        found |= {"local_share_1": 0.25 + shift, "local_share_2": 0.5 + shift}
    return found


def curve(number: int, seed: int) -> list[str]:
    """A learning curve; variants with an odd number also have BLEU."""
    header = "update,epoch,learning_rate,train_loss,train_nll,valid_loss,valid_nll,valid_perplexity"
    rows = [header + (",valid_bleu" if number % 2 else "")]
    for step in range(1, 21):
        nll = 1.3 + 0.2 * number + 0.02 * seed + 5 / step
        row = f"{100 * step},{step},0.001,{nll},{nll:.4f},{nll},{nll},{2.718281828 ** (nll + 0.2):.4f}"
        rows.append(row + (f",{40 - 25 / step - number:.2f}" if number % 2 else ""))
    return rows
