"""How often a run finds a right translation more probable than the wrong ones.

An item counts 1 if its right candidate has a higher log-probability than every wrong one, one half if it ties with the
best of them, else 0. The log-probability is the sum over the candidate's units and END, or, "normalized", their mean.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.files import UserError, read_json, replacing_folder, write_lines
from context_nmt.measures.rows import TEXT, Row, row, write_rows
from context_nmt.settings.layout import Layout, run_name

COLUMNS = ("line", "outcome", "margin", "normalized_outcome", "normalized_margin")
Candidate = tuple[tuple[int, ...], int]  # line numbers of the pairs before it, oldest first, and its own
ALL = "all"  # the category of every item
SUMMED, NORMALIZED = "accuracy", "accuracy_normalized"


def contrast_run(experiment: Layout, variant: str, seed: int, *, device: str) -> None:
    """Write a run's accuracies on every contrastive set of the binarized corpus, and each item's outcome.

    Where torchrun started several processes, they share the work and the first writes. Raises UserError for files that
    are missing or do not belong together.
    """
    corpus = BinarizedCorpus(experiment.binarized)
    run = run_name(variant, seed)
    if not corpus.contrastive:
        with replacing_folder(experiment.contrastive_outcomes(run)):
            write_rows(experiment.contrastive(run), run, [])
        return
    from context_nmt.decoding.forced_scoring import score_pairs  # PyTorch takes two seconds
    from context_nmt.decoding.workers import usable
    from context_nmt.models.checkpoints import load_run
    from context_nmt.models.devices import device_named
    from context_nmt.models.processes import processes

    sets = {}
    where = device_named(device)
    model = load_run(experiment.model(run), where, corpus)
    with processes(where) as group:
        for name in corpus.contrastive:
            index = experiment.tokenized / f"{name}.items.json"
            sources, targets = corpus.parallel(name)
            wanted = candidates(index, len(sources))
            summed = score_pairs(
                model,
                [sources[number] for _, number in wanted],
                [targets[number] for _, number in wanted],
                contexts=[[(sources[one], targets[one]) for one in context] for context, _ in wanted],
                device=where,
                progress=f"{run} {name}" if group.first else None,
                workers=usable(where),
                processes=group,
            )
            scores = dict(zip(wanted, summed, strict=True))
            means = {one: score / (len(targets[one[1]]) + 1) for one, score in scores.items()}  # END included
            sets[name] = judge(index, {SUMMED: scores, NORMALIZED: means})
    if not group.first:
        return
    with replacing_folder(experiment.contrastive_outcomes(run)) as folder:
        for name, judged in sets.items():
            write_lines(folder / f"{name}.tsv", judged.outcomes())
    write_rows(experiment.contrastive(run), run, (row for name, judged in sets.items() for row in judged.rows(name)))


@dataclass(frozen=True)
class Judged:
    """The items of one set, with their margins: the right candidate's score less that of the best wrong one."""

    sha256: str
    categories: list[set[str]]  # of each item
    margins: dict[str, list[float]]  # of each item, in nats, by metric

    def rows(self, name: str) -> Iterator[Row]:
        """Yield accuracies of the set `name` by category, in per cent, and how many items each has."""
        for category in sorted(set().union(*self.categories)):
            own = [number for number, categories in enumerate(self.categories) if category in categories]
            yield row(name, "items", len(own), tag=category, of=TEXT)
            for metric, margins in self.margins.items():
                score = "mean-over-units" if metric == NORMALIZED else "sum"
                accuracy = round(100 * fmean(outcome(margins[number]) for number in own), 4)
                signature = f"items:{len(own)}|log-probability:{score}|ties:0.5|set:{self.sha256[:16]}"
                yield row(name, metric, accuracy, tag=category, signature=signature)

    def outcomes(self) -> Iterator[str]:
        """Yield a table, its columns apart by tabs: for each line of the set, from 1, the outcomes and margins."""
        yield "\t".join(COLUMNS)
        for line, margins in enumerate(zip(*self.margins.values(), strict=True), start=1):
            cells = [f"{outcome(margin):g}\t{margin:.6g}" for margin in margins]
            yield "\t".join([str(line), *cells])


def candidates(index: Path, pairs: int) -> list[Candidate]:
    """Give the distinct candidates of the items of `SET.items.json`.

    Raises UserError if the set has not that many `pairs`.
    """
    items = read_json(index)["items"]
    if any("context" not in item for item in items):
        raise UserError(f"{index}: says nothing of contexts; run the text stages again")
    found = [candidate for item in items for candidate in _of_item(item)]
    expected = 1 + max(number for context, candidate in found for number in (*context, candidate))
    if pairs != expected:
        raise UserError(f"{index}: has {expected} pairs, but there are {pairs}; run the text stages again")
    return list(dict.fromkeys(found))


def _of_item(item: dict[str, Any]) -> list[Candidate]:
    """The right one first."""
    return [(tuple(item["context"]), number) for number in (item["right"], *item["wrong"])]


def judge(index: Path, scores: dict[str, dict[Candidate, float]]) -> Judged:
    """Judge the items of `SET.items.json` by the scores of their candidates."""
    entries = read_json(index)
    items = [_of_item(item) for item in entries["items"]]
    return Judged(
        sha256=entries["sha256"],
        categories=[{ALL, *item["categories"]} for item in entries["items"]],
        margins={
            metric: [given[right] - max(given[one] for one in wrong) for right, *wrong in items]
            for metric, given in scores.items()
        },
    )


def outcome(margin: float) -> float:
    """1 for a right candidate that is ahead, one half for a tie, else 0."""
    return 1.0 if margin > 0 else 0.5 if margin == 0 else 0.0
