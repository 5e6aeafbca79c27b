"""What probes have found in the states of systems, as a Markdown page."""

import re
from collections.abc import Collection, Iterator

from context_nmt.measures.probes.tasks import GROUPS
from context_nmt.measures.rows import CHANCE, read_rows
from context_nmt.report.markdown import DASH, score_cell, table_header, table_row
from context_nmt.results.table import Results
from context_nmt.settings.folder import Experiment
from context_nmt.settings.layout import run_name

STACKS = ("encoder", "decoder")
INTRODUCTION = """\
Seeds: {seeds}. Written by the report stage; analyses.csv holds the same numbers. ± is the sample standard deviation
over seeds; in brackets the difference to the system's baseline; nothing here is tested."""
SENTENCES = """\
How often, in per cent, a classifier finds out what a sentence is like from the mean of the encoder's top layer over it
(Conneau et al. 2018; the classifier is that of Ampomah et al. 2021). Chance is the most frequent class. Tasks:
`data/{tasks}`; {count} classifier{s} for each run."""
UNITS = """\
How often, in per cent, a classifier finds out from a layer's state which unit stands at its position (Emelin et al.
2019). Layer 0 are the embeddings; in the decoder it is the unit that was put in, not the one to come. The validation
set, which chooses among the classifiers' epochs, stands in analyses.csv."""
COSINES = "How near a layer's states are to the embeddings: mean cosines per token, and of whole sentences as vectors."
FREQUENCY = "By the frequency of the unit's type in training: ten groups of equally many types, 1 has the rarest."
TAGS = "By the part of speech of the unit's word."


def format_probes(experiment: Experiment, results: Results, pictures: Collection[str]) -> str:
    """Format the tables of sentence and lexical probes; `pictures` are the names of those that figures/ has."""
    settings = results.settings
    corpus, probing = settings.corpus, settings.probing
    lines = [f"# Probes: {corpus.name}, {corpus.source}-{corpus.target}", ""]
    lines += [INTRODUCTION.format(seeds=", ".join(map(str, settings.seeds))), "", "## Sentences", ""]
    if probing.sentences:
        count = len(probing.sentence_classifier.seeds)
        lines += [SENTENCES.format(tasks=probing.tasks, count=count, s="s" if count > 1 else "")]
        lines += _picture("Sentence probes", "sentence_probes", pictures)
        lines += _sentences(experiment, results)
    else:
        lines.append("No variant stands under probing.sentences of params.yaml.")
    lines += ["", "## Units", ""]
    if probing.words:
        lines += [UNITS, *_picture("Lexical probes", "lexical_probes", pictures)]
        for test in lexical_tests(results):
            lines += _units(results, test, pictures)
    else:
        lines.append("No variant stands under probing.words of params.yaml.")
    return "\n".join(lines) + "\n"


def lexical_tests(results: Results) -> list[str]:
    """The test sets but the validation set, unless it is the only one."""
    corpus = results.settings.corpus
    return [test for test in corpus.tests if test != corpus.validation] or list(corpus.tests)


def _picture(title: str, name: str, pictures: Collection[str]) -> list[str]:
    return ["", f"![{title}](figures/{name}.svg)"] if name in pictures else []


def chances(experiment: Experiment) -> dict[str, float]:
    """The share of the most frequent class of each task and group, in per cent."""
    settings = experiment.settings
    path = experiment.sentence_probes(run_name(settings.probing.sentences[0], settings.seeds[0]))
    return {row.measure.tag: row.value for row in read_rows(path) if row.of == CHANCE}


def _sentences(experiment: Experiment, results: Results) -> Iterator[str]:
    probing = results.settings.probing
    first = chances(experiment)
    for group, tasks in GROUPS.items():
        columns = [name for name in (*tasks, group) if name in first]
        if not columns:
            continue
        yield from ["", f"{group.capitalize()}:", ""]
        yield from table_header(["System", *(f"{name}, mean" if name == group else name for name in columns)])
        yield table_row(["(chance)", *(f"{first[name]:.2f}" for name in columns)])
        for variant in probing.sentences:
            cells = [score_cell(results, variant, str(probing.tasks), f"probe_{name}") for name in columns]
            yield table_row([results.settings.label(variant), *cells])
        if len(probing.sentence_classifier.seeds) > 1:
            yield from ["", "Sample standard deviation over the classifiers of a run:", ""]
            yield from table_header(["System", *columns])
            for variant in probing.sentences:
                found = [results.summary(variant, str(probing.tasks), f"probe_{name}_deviation") for name in columns]
                cells = [f"{one['mean']:.2f}" if one else DASH for one in found]
                yield table_row([results.settings.label(variant), *cells])


def _units(results: Results, test: str, pictures: Collection[str]) -> Iterator[str]:
    yield from ["", f"### {test}"]
    for stack in STACKS:
        columns = {f"lexical_{stack}_{layer}": f"layer {layer}" for layer in results.numbers(test, f"lexical_{stack}")}
        yield from _table(results, test, f"{stack.capitalize()}:", columns)
    yield from ["", COSINES]
    for stack in STACKS:
        columns = {
            f"cosine_{stack}_{what}_{layer}": f"layer {layer}, {what}"
            for what in ("tokens", "sentences")
            for layer in results.numbers(test, f"cosine_{stack}_{what}")
        }
        yield from _table(results, test, f"{stack.capitalize()}:", columns, decimals=3)
    for text, kind in ((FREQUENCY, "frequency"), (TAGS, "tag")):
        found = {stack: groups_of(results, test, stack, kind) for stack in STACKS}
        if any(found.values()):
            yield from ["", text, *_picture(text, f"lexical_{kind}", pictures)]
        for stack, groups in found.items():
            yield from _by_group(results, test, stack, kind, groups)


def groups_of(results: Results, test: str, stack: str, kind: str) -> list[str]:
    """The bins or tags that a test set has units of: bins by number, tags by name."""
    found = [re.fullmatch(rf"lexical_{stack}_{kind}_(.+)_0", name) for name in results.measures(test)]
    names = [match[1] for match in found if match]
    return sorted(names, key=lambda name: (int(name) if name.isdecimal() else 0, name))


def _table(results: Results, test: str, title: str, columns: dict[str, str], decimals: int = 2) -> Iterator[str]:
    yield from ["", title, ""]
    yield from table_header(["System", *columns.values()])
    for variant in results.settings.probing.words:
        cells = [score_cell(results, variant, test, name, decimals) for name in columns]
        yield table_row([results.settings.label(variant), *cells])


def _by_group(results: Results, test: str, stack: str, kind: str, groups: list[str]) -> Iterator[str]:
    """A row per group, a column per system and layer, without differences."""
    if not groups:
        return
    layers = results.numbers(test, f"lexical_{stack}")
    variants = results.settings.probing.words
    yield from ["", f"{stack.capitalize()}:", ""]
    titles = (f"{results.settings.label(variant)}, {layer}" for variant in variants for layer in layers)
    yield from table_header([kind, *titles])
    for group in groups:
        found = [
            results.summary(variant, test, f"lexical_{stack}_{kind}_{group}_{layer}")
            for variant in variants
            for layer in layers
        ]
        yield table_row([group, *(f"{one['mean']:.2f}" if one else DASH for one in found)])
