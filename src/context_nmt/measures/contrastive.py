"""How often a run finds a right translation more probable than the wrong ones.

An item counts 1 if its right candidate has a higher log-probability than every wrong one, one half if it ties with the
best of them, else 0. The log-probability is the sum over the candidate's units and END, or, "normalized", their mean.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.files import UserError, read_json, replacing_folder, write_lines
from context_nmt.measures.rows import TEXT, Row, row, write_rows
from context_nmt.settings.layout import Layout
from context_nmt.settings.run_layout import run_name

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

    judged = {}
    where = device_named(device)
    model = load_run(experiment.model(run), where, corpus)
    with processes(where) as group:
        for name in corpus.contrastive:
            sources, targets = corpus.parallel(name)
            items = read_items(experiment.tokenized / f"{name}.items.json", len(sources))
            candidates = items.candidates()
            summed = score_pairs(
                model,
                [sources[number] for _, number in candidates],
                [targets[number] for _, number in candidates],
                contexts=[[(sources[one], targets[one]) for one in context] for context, _ in candidates],
                device=where,
                progress=f"{run} {name}" if group.first else None,
                workers=usable(where),
                processes=group,
            )
            sums = dict(zip(candidates, summed, strict=True))
            means = {one: score / (len(targets[one[1]]) + 1) for one, score in sums.items()}  # END included
            judged[name] = (items, {SUMMED: items.margins(sums), NORMALIZED: items.margins(means)})
    if not group.first:
        return
    with replacing_folder(experiment.contrastive_outcomes(run)) as folder:
        for name, (_, margins) in judged.items():
            write_lines(folder / f"{name}.tsv", outcome_lines(margins))
    rows = (row for name, (items, margins) in judged.items() for row in items.rows(name, margins))
    write_rows(experiment.contrastive(run), run, rows)


@dataclass(frozen=True)
class Items:
    """The items of one contrastive set."""

    sha256: str
    candidates_of: list[list[Candidate]]  # of each item, the right one first
    categories: list[set[str]]  # of each item

    def candidates(self) -> list[Candidate]:
        """Return the distinct candidates of all items."""
        return list(dict.fromkeys(one for item in self.candidates_of for one in item))

    def margins(self, scores: dict[Candidate, float]) -> list[float]:
        """Return each item's margin: the right candidate's score, in nats, less that of the best wrong one."""
        return [scores[right] - max(scores[one] for one in wrong) for right, *wrong in self.candidates_of]

    def rows(self, name: str, margins: dict[str, list[float]]) -> Iterator[Row]:
        """Yield accuracies of the set `name` by category, in per cent, and the items of each; margins by metric."""
        for category in sorted(set().union(*self.categories)):
            own = [number for number, categories in enumerate(self.categories) if category in categories]
            yield row(name, "items", len(own), tag=category, subject=TEXT)
            for metric, of_items in margins.items():
                score = "mean-over-units" if metric == NORMALIZED else "sum"
                accuracy = round(100 * fmean(outcome(of_items[number]) for number in own), 4)
                signature = f"items:{len(own)}|log-probability:{score}|ties:0.5|set:{self.sha256[:16]}"
                yield row(name, metric, accuracy, tag=category, signature=signature)


def read_items(index: Path, pairs: int) -> Items:
    """Read `SET.items.json`; raises UserError if the set does not have that many `pairs`."""
    content = read_json(index)
    items = content["items"]
    if any("context" not in item for item in items):
        raise UserError(f"{index}: says nothing of contexts; run the text stages again")
    found = [[(tuple(item["context"]), number) for number in (item["right"], *item["wrong"])] for item in items]
    expected = 1 + max(number for item in found for context, own in item for number in (*context, own))
    if pairs != expected:
        raise UserError(f"{index}: has {expected} pairs, but there are {pairs}; run the text stages again")
    return Items(content["sha256"], found, [{ALL, *item["categories"]} for item in items])


def outcome_lines(margins: dict[str, list[float]]) -> Iterator[str]:
    """Yield a table, its columns apart by tabs: for each item, from 1, its outcomes and margins by metric."""
    yield "\t".join(COLUMNS)
    for line, of_item in enumerate(zip(*margins.values(), strict=True), start=1):
        yield "\t".join([str(line), *(f"{outcome(margin):g}\t{margin:.6g}" for margin in of_item)])


def outcome(margin: float) -> float:
    """Return 1 if the right candidate is ahead, one half for a tie, else 0."""
    return 1.0 if margin > 0 else 0.5 if margin == 0 else 0.0
