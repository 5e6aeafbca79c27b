"""How probable a run finds given translations: the candidates of contrastive sets, and the references of test sets."""

from collections.abc import Iterator
from hashlib import sha256

from context_nmt.corpus.batching import joined_lengths, sentences_before
from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.decoding.forced_scoring import score_pairs, score_text
from context_nmt.decoding.in_batches import join_processes_with_workers
from context_nmt.files import replacing_folder, write_lines
from context_nmt.measures.contrastive import Items, outcome_lines, read_items, write_outcomes
from context_nmt.measures.rows import NLL, NORMALIZED, SUMMED, Row, row, write_rows
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import Processes, device_named
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.models.model import Model
from context_nmt.progress import say, tracked
from context_nmt.settings.layout import Layout
from context_nmt.settings.run_layout import run_name

Margins = dict[str, list[float]]  # of each item, by metric


def contrast_run(experiment: Layout, variant: str, seed: int, *, device: str) -> None:
    """Write a run's accuracies on contrastive sets, each item's outcome, and the likelihood of the references.

    Processes that torchrun has started share the work, and the first one writes the files. Raise UserError for files
    that are missing or do not belong together, and for sentences that are too long for the model.
    """
    corpus = BinarizedCorpus(experiment.binarized)
    run = run_name(variant, seed)
    model = load_run(experiment.model(run), device_named(device), corpus)
    with join_processes_with_workers(model.device) as group:
        results = {
            name: _score_items(experiment, corpus, model, name, f"{run} {name}", group)
            for name in tracked(corpus.contrastive, run, len(corpus.contrastive), "sets")
        }
        rows = [row for name, (items, margins) in results.items() for row in items.rows(name, margins)]
        for test in tracked(corpus.tests, run, len(corpus.tests), "test sets"):
            rows += reference_rows(model, corpus, test, progress=f"{run} {test}", processes=group)
    if not group.is_first:
        return
    with replacing_folder(experiment.contrastive_margins(run)) as folder:
        for name, (_, margins) in results.items():
            write_lines(folder / f"{name}.tsv", outcome_lines(margins))
    write_outcomes(experiment.contrastive_outcomes(run), results)
    write_rows(experiment.contrastive(run), run, rows)


def _score_items(
    experiment: Layout, corpus: BinarizedCorpus, model: Model, name: str, progress: str, processes: Processes
) -> tuple[Items, Margins]:
    sources, targets = corpus.parallel(name)
    items = read_items(experiment.tokenized / f"{name}.items.json", len(sources))
    candidates = items.candidates()
    log_probabilities = score_pairs(
        model,
        [sources[number] for _, number in candidates],
        [targets[number] for _, number in candidates],
        contexts=[[(sources[line], targets[line]) for line in context] for context, _ in candidates],
        progress=progress,
        processes=processes,
    )
    sums = dict(zip(candidates, log_probabilities, strict=True))
    means = {pair: score / (len(targets[pair[1]]) + 1) for pair, score in sums.items()}  # END included
    return items, {SUMMED: items.margins(sums), NORMALIZED: items.margins(means)}


def reference_rows(
    model: Model,
    corpus: BinarizedCorpus,
    test: str,
    *,
    progress: str | None = None,
    processes: Processes | None = None,
) -> Iterator[Row]:
    """Yield the negative log-likelihood of the first reference of a test set, in nats per target unit and END.

    Previous sentences are the source's and the reference's own. The signature has the target units, and whether the
    likelihood is a masked model's pseudo-likelihood. A test set with a reference that is longer than learned positions
    has no row.
    """
    (sources, targets), documents = corpus.parallel(test), corpus.documents(test)
    before, positions = sentences_before(documents, len(targets)), model.target_embedding.positions
    longest = int(joined_lengths(targets.lengths, before, model.previous_targets).max(initial=0))
    if positions is not None and longest >= positions.num_embeddings:
        say(f"no {NLL} of {test}: a reference has {longest} units, and the model {positions.num_embeddings} positions")
        return
    log_probabilities = score_text(model, sources, targets, documents=documents, progress=progress, processes=processes)
    units = int(targets.lengths.sum()) + len(targets)
    vocabulary = corpus.target_vocabulary
    digest = sha256("\n".join(vocabulary.units).encode()).hexdigest()[:16]
    kind = "pseudo-likelihood" if isinstance(model, MaskedLanguageModel) else "likelihood"
    signature = f"{kind}|nats-per-unit-and-END|units:{len(vocabulary)}|vocabulary:{digest}"
    yield row(test, NLL, round(-sum(log_probabilities) / units, 4), signature=signature)
