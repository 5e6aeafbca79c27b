"""Contrastive accuracy: the share of items for which a run prefers the correct translation to the wrong ones.

An item counts 1 if its right candidate is more probable than every wrong candidate, ½ if it ties with the best of them,
and 0 otherwise. A candidate's log-probability is summed or, if normalized, averaged over its units and END.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.files import UserError, read_json, replacing_folder, write_lines
from context_nmt.measures.rows import NORMALIZED, SUMMED, TEXT, Row, row, write_rows
from context_nmt.progress import tracked
from context_nmt.settings.layout import Layout
from context_nmt.settings.run_layout import run_name

OUTCOME_COLUMNS = ("line", "outcome", "margin", "normalized_outcome", "normalized_margin")
Candidate = tuple[tuple[int, ...], int]  # line numbers of the preceding pairs, oldest first, and of the pair itself
ALL_ITEMS = "all"  # the category of every item


def contrast_run(experiment: Layout, variant: str, seed: int, *, device: str) -> None:
    """Write a run's accuracies on every contrastive set of the binarized corpus, and each item's outcome.

    Processes that torchrun has started share the work, and the first one writes the files. Raise UserError for files
    that are missing or do not belong together.
    """
    corpus = BinarizedCorpus(experiment.binarized)
    run = run_name(variant, seed)
    if not corpus.contrastive:
        with replacing_folder(experiment.contrastive_outcomes(run)):
            write_rows(experiment.contrastive(run), run, [])
        return
    from context_nmt.decoding.forced_scoring import score_pairs  # imports PyTorch, which takes two seconds
    from context_nmt.decoding.in_batches import join_processes_with_workers
    from context_nmt.models.checkpoints import load_run
    from context_nmt.models.devices import device_named

    results = {}
    model = load_run(experiment.model(run), device_named(device), corpus)
    with join_processes_with_workers(model.device) as group:
        for name in tracked(corpus.contrastive, run, len(corpus.contrastive), "sets"):
            sources, targets = corpus.parallel(name)
            items = read_items(experiment.tokenized / f"{name}.items.json", len(sources))
            candidates = items.candidates()
            log_probabilities = score_pairs(
                model,
                [sources[number] for _, number in candidates],
                [targets[number] for _, number in candidates],
                contexts=[[(sources[line], targets[line]) for line in context] for context, _ in candidates],
                progress=f"{run} {name}",
                processes=group,
            )
            sums = dict(zip(candidates, log_probabilities, strict=True))
            means = {pair: score / (len(targets[pair[1]]) + 1) for pair, score in sums.items()}  # END included
            results[name] = (items, {SUMMED: items.margins(sums), NORMALIZED: items.margins(means)})
    if not group.is_first:
        return
    with replacing_folder(experiment.contrastive_outcomes(run)) as folder:
        for name, (_, margins) in results.items():
            write_lines(folder / f"{name}.tsv", outcome_lines(margins))
    rows = (row for name, (items, margins) in results.items() for row in items.rows(name, margins))
    write_rows(experiment.contrastive(run), run, rows)


@dataclass(frozen=True)
class Items:
    """The items of one contrastive set."""

    sha256: str
    item_candidates: list[list[Candidate]]  # for each item, the right one first
    categories: list[set[str]]  # for each item

    def candidates(self) -> list[Candidate]:
        """Return the distinct candidates of all items."""
        return list(dict.fromkeys(candidate for item in self.item_candidates for candidate in item))

    def margins(self, scores: dict[Candidate, float]) -> list[float]:
        """Return each item's margin in nats: the right candidate's score minus the best wrong candidate's."""
        return [scores[right] - max(scores[candidate] for candidate in wrong) for right, *wrong in self.item_candidates]

    def rows(self, name: str, margins: dict[str, list[float]]) -> Iterator[Row]:
        """Yield the accuracy, in per cent, and the number of items of each category of the set `name`."""
        for category in sorted(set().union(*self.categories)):
            numbers = [number for number, categories in enumerate(self.categories) if category in categories]
            yield row(name, "items", len(numbers), tag=category, subject=TEXT)
            for metric, item_margins in margins.items():
                reduction = "mean-over-units" if metric == NORMALIZED else "sum"
                accuracy = round(100 * fmean(outcome(item_margins[number]) for number in numbers), 4)
                signature = f"items:{len(numbers)}|log-probability:{reduction}|ties:0.5|set:{self.sha256[:16]}"
                yield row(name, metric, accuracy, tag=category, signature=signature)


def read_items(index: Path, pairs: int) -> Items:
    """Read `SET.items.json`; raise UserError unless its items refer to exactly `pairs` sentence pairs."""
    content = read_json(index)
    items = content["items"]
    if any("context" not in item for item in items):
        raise UserError(f"{index}: has no contexts; run the text stages again")
    candidates = [[(tuple(item["context"]), number) for number in (item["right"], *item["wrong"])] for item in items]
    expected = 1 + max(number for item in candidates for context, pair in item for number in (*context, pair))
    if pairs != expected:
        raise UserError(f"{index}: has {expected} pairs, but there are {pairs}; run the text stages again")
    return Items(content["sha256"], candidates, [{ALL_ITEMS, *item["categories"]} for item in items])


def outcome_lines(margins: dict[str, list[float]]) -> Iterator[str]:
    """Yield a tab-separated table of the outcomes and margins of each item, numbered from 1, by metric."""
    yield "\t".join(OUTCOME_COLUMNS)
    for line, item_margins in enumerate(zip(*margins.values(), strict=True), start=1):
        yield "\t".join([str(line), *(f"{outcome(margin):g}\t{margin:.6g}" for margin in item_margins)])


def outcome(margin: float) -> float:
    """Return 1 if the right candidate wins, one half for a tie, else 0."""
    return 1.0 if margin > 0 else 0.5 if margin == 0 else 0.0
