"""The results of an experiment as a Markdown page."""

from collections.abc import Iterable, Iterator

from context_nmt.results.table import Results

DASH = "-"
COSTS = ("Parameters", "MFLOPs", "FLOPs / baseline", "Training speed", "Decoding speed")
NOTES = """\
± is the sample standard deviation over seeds; in brackets the difference to the system's baseline.
† p < 0.05, ‡ p < 0.01 in the system's own test (bold p below) against its baseline with the same seed, for every
seed and in the same direction; only {metric} was tested. The tests see the choice of sentences ({resamples} resamples
of {ratio:.0%} of a test set); the interval, from Student's t, sees the choice of seeds. FLOPs are those of training,
per target token. {speeds}

- p, compare-mt: share of resamples that the better system does not win (Koehn 2004); one-sided.
- p, sacrebleu: share of resamples whose centred difference exceeds the observed one; always full-size resamples.
- p, sign test: sentences that raise against sentences that lower corpus BLEU when they replace the baseline's
  (Collins et al. 2005); two-sided."""


def format_results(results: Results, sections: Iterable[str] = ()) -> str:
    """Format tables per test set and contrastive set, differences to baselines, what marks mean, and all signatures.

    `sections` are the lines of further ones, which come before the notes.
    """
    settings = results.settings
    corpus, seeds = settings.corpus, ", ".join(map(str, settings.seeds))
    lines = [
        f"# Results: {corpus.name}, {corpus.source}-{corpus.target}",
        "",
        f"Seeds: {seeds}. Written by the report stage; results.json and results.csv hold the same numbers."
        " What goes on inside the systems stands in [analyses.md](analyses.md).",
    ]
    for test_set in results.test_sets:
        members = corpus.groups.get(test_set)
        title = f"## {test_set}" + (f" (mean of {', '.join(members)})" if members else "")
        lines += ["", title, "", *_scores(results, test_set)]
        if not members:
            lines += _tests(results, test_set)
    for name in results.contrastive_sets:
        lines += ["", f"## {name} (contrastive)", "", *_accuracies(results, name)]
    lines += sections
    significance = settings.significance
    notes = NOTES.format(
        metric=significance.metric,
        resamples=significance.resamples,
        ratio=significance.sample_ratio,
        speeds=results.speeds.note(),
    )
    lines += ["", "## Notes", "", notes, "", "## Signatures", "", *_signatures(results)]
    return "\n".join(lines) + "\n"


def _scores(results: Results, test_set: str) -> Iterator[str]:
    metrics = results.metrics(test_set)
    yield from table_header(["System", *COSTS, *metrics])
    for variant in results.settings.variants:
        model, baseline = results.models[variant], results.settings.variants[variant].baseline
        flops = model["flops_per_target_token"]
        ratio = f"{flops / results.models[baseline]['flops_per_target_token']:.2f}" if baseline else DASH
        cells = [score_cell(results, variant, test_set, metric) for metric in metrics]
        speeds = [results.speeds.ratio(model, work) for work in ("training", "decoding")]
        costs = [f"{model['parameters']:,}", f"{flops / 1e6:,.1f}", ratio]
        costs += [DASH if speed is None else f"{speed:.2f}" for speed in speeds]
        yield table_row([results.settings.label(variant), *costs, *cells])


def score_cell(results: Results, variant: str, test_set: str, metric: str, decimals: int = 2) -> str:
    """The mean over seeds, its deviation, and the difference to the baseline with its mark."""
    summary, difference = results.summary(variant, test_set, metric), results.difference(variant, test_set, metric)
    if summary is None:
        return DASH
    deviation = f" ± {summary['deviation']:.{decimals}f}" if summary["seeds"] > 1 else ""
    gain = f" ({signed(difference.mean, decimals)}{mark(difference.p)})" if difference else ""
    return f"{summary['mean']:.{decimals}f}{deviation}{gain}"


def _accuracies(results: Results, name: str) -> Iterator[str]:
    metrics = results.metrics(name)
    normalized = [metric for metric in metrics if metric.endswith("_normalized")]
    summed = [metric for metric in metrics if metric not in normalized]
    yield "Per cent of the items whose right translation is more probable than every wrong one; ties count half."
    for score, chosen in (("", summed), (" per unit", normalized)):
        yield from ["", f"By log-probability{score}:", ""]
        counts = [f"{metric.removeprefix(name + '_')}, {results.items(name, metric):,} items" for metric in chosen]
        yield from table_header(["System", *counts])
        for variant in results.settings.variants:
            cells = [score_cell(results, variant, name, metric) for metric in chosen]
            yield table_row([results.settings.label(variant), *cells])


def _tests(results: Results, test_set: str) -> Iterator[str]:
    metric = results.settings.significance.metric
    tested = {
        variant: difference
        for variant in results.settings.variants
        if (difference := results.difference(variant, test_set, metric))
    }
    if not tested:
        return
    yield ""
    header = ["System", "Baseline", f"Difference, {metric}", "95% interval over seeds"]
    yield from table_header([*header, "p, compare-mt", "p, sacrebleu", "p, sign test"])
    for variant, difference in tested.items():
        settings = results.settings.variants[variant]
        interval = " … ".join(map(signed, difference.interval)) if difference.interval else DASH
        p_values = {
            test: ", ".join(_p(run[test_set][test]["p"], smallest) for run in results.comparisons[variant])
            for test, smallest in (
                ("bootstrap", 1 / results.settings.significance.resamples),
                ("sacrebleu", 0.0),
                ("sign", 0.0),
            )
        }
        p_values[settings.test] = f"**{p_values[settings.test]}**"
        gain = signed(difference.mean) + mark(difference.p)
        yield table_row(
            [
                results.settings.label(variant),
                results.settings.label(str(settings.baseline)),
                gain,
                interval,
                *p_values.values(),
            ]
        )


def _signatures(results: Results) -> Iterator[str]:
    names = [metric for name in (*results.test_sets, *results.contrastive_sets) for metric in results.metrics(name)]
    for metric in dict.fromkeys(names):
        yield f"- {metric}: " + ", ".join(f"`{signature}`" for signature in results.signatures(metric))


def table_header(names: list[str]) -> Iterator[str]:
    """The first two lines of a table; numbers stand to the right, names to the left."""
    yield table_row(names)
    yield table_row(["---" if name in ("System", "Baseline") else "---:" for name in names])


def table_row(cells: Iterable[str]) -> str:
    """One line of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def mark(p: float | None) -> str:
    """The mark of a significant difference, with a space before it."""
    if p is None or p >= 0.05:
        return ""
    return " ‡" if p < 0.01 else " †"


def signed(value: float, decimals: int = 2) -> str:
    """A difference with its sign."""
    return f"{value:+,.{decimals}f}".replace("-", "−")  # noqa: RUF001 (a minus as wide as the plus)


def _p(value: float, smallest: float) -> str:
    if value < smallest:
        return f"< {smallest:g}"
    return f"{value:.2g}"
