"""Find the sentences of a test set to show, and the word that is selected when the page opens."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.explorer.explore import Passage, explore, load_systems
from context_nmt.explorer.page import Explored, Selected, write_explorer, write_picture
from context_nmt.files import UserError
from context_nmt.measures.contrastive import read_items
from context_nmt.models.checkpoints import weights_of_run
from context_nmt.progress import say
from context_nmt.settings.parameters import Experiment


@dataclass(frozen=True, kw_only=True)
class PassageQuery:
    """The sentences to show; numbers count from 1."""

    test: str  # a test set or a contrastive set
    document: int | None = None  # of a contrastive set: an item with its context, which --sentence is, too
    sentence: int | None = None  # with those before it in its document, if a system looks at them
    word: str | None = None  # the first sentence whose reference has it, else whose source has it
    most: int = 50  # sentences: the first ones of a document, or the last ones up to a sentence; an item is not cut

    def __post_init__(self) -> None:
        if self.document is not None and self.sentence is not None:
            raise UserError(f"--document is {self.document} and --sentence {self.sentence}; choose one of them")
        if self.word == "":
            raise UserError("--word is empty; give a word of a reference or source")

    @property
    def by_word(self) -> bool:
        """Whether the word chooses the sentence."""
        return self.document is None and self.sentence is None and self.word is not None

    @property
    def of_one_sentence(self) -> bool:
        """Whether one sentence is wanted, not a document."""
        return self.sentence is not None or self.by_word

    def number(self, kind: str, count: int) -> int:
        """Return the number, from 0, of a document, sentence or item; the default is the first."""
        option, given = ("document", self.document) if self.sentence is None else ("sentence", self.sentence)
        if given is not None and not 1 <= given <= count:
            raise UserError(f"--{option} is {given}; {self.test} has the {kind}s 1 to {count}")
        return 0 if given is None else given - 1


def show_runs(experiment: Experiment, runs: Sequence[str], query: PassageQuery, *, output: Path, device: str) -> None:
    """Write a page of what the runs looked at, or a picture of one run and word if `output` ends in .svg.

    Raise UserError for unknown runs, test sets, numbers and words, and for options that exclude each other.
    """
    if output.suffix not in (".html", ".svg"):
        raise UserError(f"--output is {output}; its name must end in .html, for a page, or .svg, for a picture")
    if output.suffix == ".svg" and len(runs) > 1:
        raise UserError(f"--output is {output}, a picture of one run, but there are {len(runs)}: {', '.join(runs)}")
    for run in runs:
        weights_of_run(experiment.model(run))  # first: without a run, the other files are missing, too
    corpus = BinarizedCorpus(experiment.binarized)
    passage = find(experiment, corpus, query)
    systems = load_systems(experiment, runs, corpus, device)
    if query.of_one_sentence and not passage.candidates and not any(one.model.needs_documents for one in systems):
        passage = passage.last_sentence()
    explored = explore(systems, passage, corpus, progress=True)
    if output.suffix == ".svg":
        write_picture(output, explored, query.word)
    else:
        write_explorer(output, replace(explored, select=selected(explored, query)))
    say(f"written: {output}")


def find(experiment: Experiment, corpus: BinarizedCorpus, query: PassageQuery) -> Passage:
    """Return the sentences of a document, up to a sentence of a document, or of a contrastive item and its context."""
    test = query.test
    if test in corpus.contrastive:
        return _item(experiment, corpus, query)
    if test not in corpus.tests:
        sets = ", ".join(corpus.tests) + " (corpus.tests)"
        if corpus.contrastive:
            sets += f", the contrastive sets {', '.join(corpus.contrastive)} (corpus.contrastive)"
        raise UserError(f"--test is {test}; the test sets are {sets}")
    sources, references = corpus.parallel(test)
    documents = corpus.documents(test)
    if query.of_one_sentence:
        every_line = range(len(sources))
        by_word = query.by_word
        number = _first_with(query, corpus, every_line) if by_word else query.number("sentence", len(sources))
        start = next((document.start for document in documents or () if number in document), number)
        lines, title = every_line[start : number + 1][-query.most :], f"{test}, sentence {number + 1}"
    elif documents is None:
        missing = f"data/CORPUS/{test}.documents is missing"
        raise UserError(f"--test is {test}, which has no documents: {missing}; choose a --sentence or a --word")
    else:
        number = query.number("document", len(documents))
        lines, title = documents[number][: query.most], f"{test}, document {number + 1}"
    return Passage(
        title=title,
        sources=[sources[line] for line in lines],
        references=[references[line] for line in lines],
        lines=[line + 1 for line in lines],
    )


def _item(experiment: Experiment, corpus: BinarizedCorpus, query: PassageQuery) -> Passage:
    sources, targets = corpus.parallel(query.test)
    items = read_items(experiment.tokenized / f"{query.test}.items.json", len(sources)).item_candidates
    if query.by_word:
        number = _first_with(query, corpus, [right for (_, right), *_ in items])
    else:
        number = query.number("item", len(items))
    context, right = items[number][0]
    if (count := len(context) + 1) > query.most:
        raise UserError(
            f"--sentences is {query.most}; item {number + 1} of {query.test} has {count}, which its scores depend on"
        )
    return Passage(
        title=f"{query.test}, item {number + 1}",
        sources=[sources[line] for line in (*context, right)],
        references=[targets[line] for line in (*context, right)],
        candidates=[targets[line] for _, line in items[number]],
    )


def _first_with(query: PassageQuery, corpus: BinarizedCorpus, lines: Sequence[int]) -> int:
    """Return which of these lines is the first whose reference or, if there is none, whose source has the word."""
    sources, references = corpus.parallel(query.test)
    for vocabulary, side in ((corpus.target_vocabulary, references), (corpus.source_vocabulary, sources)):
        for number, line in enumerate(lines):
            if _place(query.word, vocabulary.words(side[line].tolist())) is not None:
                return number
    raise UserError(f"--word is {query.word}, which no reference or source of {query.test} has; choose another")


def _place(word: str | None, words: Sequence[str]) -> int | None:
    """Return the first place of a word; case does not count."""
    return next((place for place, one in enumerate(words) if word and one.lower() == word.lower()), None)


def selected(explored: Explored, query: PassageQuery) -> Selected | None:
    """Return the wanted word of a translation or source, or of a contrastive item what distinguishes its candidates.

    That is the last word of the first place where they differ: the noun after its article. A word of the reference
    alone is the one in its place in the first translation. Raise UserError for a wanted word that nothing has.
    """
    last = len(explored.sentences) - 1
    candidates = explored.sentences[last].candidates
    if query.word is None:
        if candidates is None:
            return None
        right, wrong = (candidate.text for candidate in candidates[:2])
        blocks = SequenceMatcher(None, right, wrong, autojunk=False).get_opcodes()
        place = next((stop - 1 for tag, _, stop, _, _ in blocks if tag != "equal"), 0)
        return _in_translation(explored, last, max(place, 0))
    for number in [last] if query.of_one_sentence or candidates else range(last + 1):
        sentence = explored.sentences[number]
        for run, of_run in enumerate(explored.runs):
            if (found := _place(query.word, of_run.sentences[number].target)) is not None:
                return Selected(sentence=number, run=run, side="target", word=found)
        if (found := _place(query.word, sentence.reference or [])) is not None:
            return _in_translation(explored, number, found)
        if (found := _place(query.word, sentence.source)) is not None:
            return Selected(sentence=number, run=0, side="source", word=found)
    raise UserError(f"--word is {query.word}, which {explored.title} has neither in a translation nor in its text")


def _in_translation(explored: Explored, number: int, place: int) -> Selected | None:
    """Select the word of the first translation that is in the place of one of the reference."""
    reference, target = explored.sentences[number].reference, explored.runs[0].sentences[number].target
    blocks = SequenceMatcher(None, reference or [], target, autojunk=False).get_opcodes()
    words = [min(start + place - first, end - 1) for _, first, stop, start, end in blocks if first <= place < stop]
    return Selected(sentence=number, run=0, side="target", word=max(words[0], 0)) if words and target else None
