"""Find the sentences of a test set to show, and the word that the page selects when it opens."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.explorer.explore import Passage, explore, load_systems
from context_nmt.explorer.page import ExploredText, Selection, write_explorer, write_picture
from context_nmt.files import UserError
from context_nmt.measures.contrastive import read_items
from context_nmt.models.checkpoints import run_weights_path
from context_nmt.progress import say
from context_nmt.settings.parameters import Experiment


@dataclass(frozen=True, kw_only=True)
class PassageQuery:
    """The sentences to show; numbers count from 1."""

    test: str  # a test set or a contrastive set
    document: int | None = None  # in a contrastive set, an item with its context; --sentence means the same there
    sentence: int | None = None  # with the sentences before it in its document, if a system looks at them
    word: str | None = None  # chooses the first sentence whose reference has it, else whose source has it
    limit: int = 50  # number of sentences: the first of a document, or the last up to a sentence; an item is not cut

    def __post_init__(self) -> None:
        if self.document is not None and self.sentence is not None:
            raise UserError(f"--document is {self.document} and --sentence {self.sentence}; choose one of them")
        if self.word == "":
            raise UserError("--word is empty; give a word of a reference or source")

    @property
    def by_word(self) -> bool:
        """Return whether the word chooses the sentence."""
        return self.document is None and self.sentence is None and self.word is not None

    @property
    def of_one_sentence(self) -> bool:
        """Return whether the query asks for one sentence, not a document."""
        return self.sentence is not None or self.by_word

    def number(self, kind: str, count: int) -> int:
        """Return the index, from 0, of a document, sentence or item; the default is the first.

        Raise UserError if the option is not one of 1 to `count`.
        """
        option, value = ("document", self.document) if self.sentence is None else ("sentence", self.sentence)
        if value is not None and not 1 <= value <= count:
            raise UserError(f"--{option} is {value}; {self.test} has the {kind}s 1 to {count}")
        return 0 if value is None else value - 1


def show_runs(experiment: Experiment, runs: Sequence[str], query: PassageQuery, *, output: Path, device: str) -> None:
    """Write a page of what the runs looked at, or a picture of one run and word if `output` ends in .svg.

    Raise UserError for an unknown run, test set, number or word, and for another ending of `output`.
    """
    if output.suffix not in (".html", ".svg"):
        raise UserError(f"--output is {output}; its name must end in .html, for a page, or .svg, for a picture")
    if output.suffix == ".svg" and len(runs) > 1:
        raise UserError(f"--output is {output}, a picture of one run, but there are {len(runs)}: {', '.join(runs)}")
    for run in runs:
        run_weights_path(experiment.model(run))  # first, since without a run the other files are also missing
    corpus = BinarizedCorpus(experiment.binarized)
    passage = find_passage(experiment, corpus, query)
    systems = load_systems(experiment, runs, corpus, device)
    if query.of_one_sentence and not passage.candidates and not any(system.model.needs_documents for system in systems):
        passage = passage.last_sentence()
    explored = explore(systems, passage, corpus, progress=True)
    if output.suffix == ".svg":
        write_picture(output, explored, query.word)
    else:
        write_explorer(output, replace(explored, select=select_word(explored, query)))
    say(f"written: {output}")


def find_passage(experiment: Experiment, corpus: BinarizedCorpus, query: PassageQuery) -> Passage:
    """Return the sentences of a document, a document up to a sentence, or a contrastive item with its context.

    Raise UserError if the test set, the number or the word does not exist, or the test set has no documents.
    """
    test = query.test
    if test in corpus.contrastive:
        return _contrastive_item(experiment, corpus, query)
    if test not in corpus.tests:
        sets = ", ".join(corpus.tests) + " (corpus.tests)"
        if corpus.contrastive:
            sets += f", the contrastive sets {', '.join(corpus.contrastive)} (corpus.contrastive)"
        raise UserError(f"--test is {test}; the test sets are {sets}")
    sources, references = corpus.parallel(test)
    documents = corpus.documents(test)
    if query.of_one_sentence:
        all_lines = range(len(sources))
        number = query.number("sentence", len(sources))
        if query.by_word:
            number = _first_line_with(query, corpus, all_lines)
        start = next((document.start for document in documents or () if number in document), number)
        lines, title = all_lines[start : number + 1][-query.limit :], f"{test}, sentence {number + 1}"
    elif documents is None:
        missing = f"data/CORPUS/{test}.documents is missing"
        raise UserError(f"--test is {test}, which has no documents: {missing}; choose a --sentence or a --word")
    else:
        number = query.number("document", len(documents))
        lines, title = documents[number][: query.limit], f"{test}, document {number + 1}"
    return Passage(
        title=title,
        sources=[sources[line] for line in lines],
        references=[references[line] for line in lines],
        lines=[line + 1 for line in lines],
    )


def _contrastive_item(experiment: Experiment, corpus: BinarizedCorpus, query: PassageQuery) -> Passage:
    sources, targets = corpus.parallel(query.test)
    items = read_items(experiment.tokenized / f"{query.test}.items.json", len(sources)).item_candidates
    if query.by_word:
        number = _first_line_with(query, corpus, [right for (_, right), *_ in items])
    else:
        number = query.number("item", len(items))
    context, right = items[number][0]
    if (count := len(context) + 1) > query.limit:
        raise UserError(
            f"--sentences is {query.limit}; item {number + 1} of {query.test} has {count}, which its scores depend on"
        )
    return Passage(
        title=f"{query.test}, item {number + 1}",
        sources=[sources[line] for line in (*context, right)],
        references=[targets[line] for line in (*context, right)],
        candidates=[targets[line] for _, line in items[number]],
    )


def _first_line_with(query: PassageQuery, corpus: BinarizedCorpus, lines: Sequence[int]) -> int:
    """Return the index of the first of these lines whose reference has the word, else of the first whose source has it.

    Raise UserError if no line has it.
    """
    sources, references = corpus.parallel(query.test)
    for vocabulary, side in ((corpus.target_vocabulary, references), (corpus.source_vocabulary, sources)):
        for number, line in enumerate(lines):
            if _position_of(query.word, vocabulary.words(side[line].tolist())) is not None:
                return number
    raise UserError(f"--word is {query.word}, which no reference or source of {query.test} has; choose another")


def _position_of(word: str | None, words: Sequence[str]) -> int | None:
    """Return the first position of a word, in any case."""
    return next((index for index, text in enumerate(words) if word and text.lower() == word.lower()), None)


def select_word(explored: ExploredText, query: PassageQuery) -> Selection | None:
    """Return the word to select: the query's word, or the word that distinguishes the candidates of a contrastive item.

    The latter is the last word of the first span where they differ: the noun after its article. If only the reference
    has the query's word, the aligned word of the first translation is selected. Raise UserError if no text has it.
    """
    last = len(explored.sentences) - 1
    candidates = explored.sentences[last].candidates
    if query.word is None:
        if candidates is None:
            return None
        right, wrong = (candidate.text for candidate in candidates[:2])
        blocks = SequenceMatcher(None, right, wrong, autojunk=False).get_opcodes()
        last_differing = next((stop - 1 for tag, _, stop, _, _ in blocks if tag != "equal"), 0)
        return _aligned_selection(explored, last, max(last_differing, 0))
    for number in [last] if query.of_one_sentence or candidates else range(last + 1):
        sentence = explored.sentences[number]
        for run_number, run in enumerate(explored.runs):
            if (position := _position_of(query.word, run.sentences[number].target)) is not None:
                return Selection(sentence=number, run=run_number, side="target", word=position)
        if (position := _position_of(query.word, sentence.reference or [])) is not None:
            return _aligned_selection(explored, number, position)
        if (position := _position_of(query.word, sentence.source)) is not None:
            return Selection(sentence=number, run=0, side="source", word=position)
    raise UserError(f"--word is {query.word}, which {explored.title} has neither in a translation nor in its text")


def _aligned_selection(explored: ExploredText, number: int, position: int) -> Selection | None:
    """Select the word of the first translation that stands for a word of the reference."""
    reference, target = explored.sentences[number].reference, explored.runs[0].sentences[number].target
    blocks = SequenceMatcher(None, reference or [], target, autojunk=False).get_opcodes()
    words = [
        min(start + position - first, end - 1) for _, first, stop, start, end in blocks if first <= position < stop
    ]
    return Selection(sentence=number, run=0, side="target", word=max(words[0], 0)) if words and target else None
