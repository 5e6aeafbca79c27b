"""Find the sentences of a test set to show, and the word that is selected when the page opens."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path

from context_nmt.corpus.binarized import BinarizedCorpus, TokenFile
from context_nmt.explorer.data import Explored, Selected
from context_nmt.explorer.explore import Passage, explore, load_systems
from context_nmt.explorer.page import write_explorer
from context_nmt.explorer.picture import write_picture
from context_nmt.files import UserError
from context_nmt.measures.contrastive import read_items
from context_nmt.models.checkpoints import weights_of_run
from context_nmt.progress import say
from context_nmt.settings.folder import Experiment


@dataclass(frozen=True, kw_only=True)
class Wanted:
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
    def of_one_sentence(self) -> bool:
        """Whether one sentence is wanted, not a document."""
        return self.sentence is not None or (self.document is None and self.word is not None)


def show(experiment: Experiment, runs: Sequence[str], wanted: Wanted, *, output: Path, device: str) -> None:
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
    text = find(experiment, corpus, wanted)
    systems = load_systems(experiment, runs, corpus, device)
    if wanted.of_one_sentence and not text.candidates and not any(one.model.needs_documents for one in systems):
        text = text.last_sentence()
    explored = explore(systems, text, corpus, progress=True)
    if output.suffix == ".svg":
        write_picture(output, explored, wanted.word)
    else:
        write_explorer(output, replace(explored, select=selected(explored, wanted)))
    say(f"written: {output}")


def find(experiment: Experiment, corpus: BinarizedCorpus, wanted: Wanted) -> Passage:
    """Return the sentences of a document, up to a sentence of a document, or of a contrastive item and its context."""
    test = wanted.test
    if test in corpus.contrastive:
        return _item(experiment, corpus, wanted)
    if test not in corpus.tests:
        sets = ", ".join(corpus.tests) + " (corpus.tests)"
        if corpus.contrastive:
            sets += f", the contrastive sets {', '.join(corpus.contrastive)} (corpus.contrastive)"
        raise UserError(f"--test is {test}; the test sets are {sets}")
    sources, references = corpus.parallel(test)
    documents = corpus.documents(test)
    if wanted.of_one_sentence:
        every_sentence = range(len(sources))
        number = _number("sentence", wanted.sentence, len(sources), test)
        if wanted.sentence is None:
            number = _first_with(wanted, corpus, every_sentence, references, sources)
        start = next((document.start for document in documents or () if number in document), number)
        lines, title = every_sentence[start : number + 1][-wanted.most :], f"{test}, sentence {number + 1}"
    elif documents is None:
        missing = f"data/CORPUS/{test}.documents is missing"
        raise UserError(f"--test is {test}, which has no documents: {missing}; choose a --sentence or a --word")
    else:
        number = _number("document", wanted.document, len(documents), test)
        lines, title = documents[number][: wanted.most], f"{test}, document {number + 1}"
    return Passage(
        title=title,
        sources=[sources[line] for line in lines],
        references=[references[line] for line in lines],
        lines=[line + 1 for line in lines],
    )


def _item(experiment: Experiment, corpus: BinarizedCorpus, wanted: Wanted) -> Passage:
    sources, targets = corpus.parallel(wanted.test)
    items = read_items(experiment.tokenized / f"{wanted.test}.items.json", len(sources)).candidates_of
    option = "document" if wanted.document is not None else "sentence"
    number = _number(option, getattr(wanted, option), len(items), wanted.test, "items")
    if wanted.word is not None and wanted.document is None and wanted.sentence is None:
        of_items = [right for (_, right), *_ in items]
        number = of_items.index(_first_with(wanted, corpus, of_items, targets, sources))
    context, right = items[number][0]
    if (count := len(context) + 1) > wanted.most:
        raise UserError(
            f"--sentences is {wanted.most}; item {number + 1} of {wanted.test} has {count}, which its scores depend on"
        )
    return Passage(
        title=f"{wanted.test}, item {number + 1}",
        sources=[sources[line] for line in (*context, right)],
        references=[targets[line] for line in (*context, right)],
        candidates=[targets[line] for _, line in items[number]],
    )


def _number(option: str, given: int | None, count: int, test: str, names: str | None = None) -> int:
    """Return a number from 0; the default is the first."""
    if given is not None and not 1 <= given <= count:
        raise UserError(f"--{option} is {given}; {test} has the {names or f'{option}s'} 1 to {count}")
    return 0 if given is None else given - 1


def _first_with(
    wanted: Wanted, corpus: BinarizedCorpus, numbers: Sequence[int], references: TokenFile, sources: TokenFile
) -> int:
    """Return the first sentence whose reference or, if there is none, whose source has the word."""
    for vocabulary, side in ((corpus.target_vocabulary, references), (corpus.source_vocabulary, sources)):
        for number in numbers:
            if _place(wanted.word, vocabulary.words(side[number].tolist())) is not None:
                return number
    raise UserError(f"--word is {wanted.word}, which no reference or source of {wanted.test} has; choose another")


def _place(word: str | None, words: Sequence[str]) -> int | None:
    """Return the first place of a word; case does not count."""
    return next((place for place, one in enumerate(words) if word and one.lower() == word.lower()), None)


def selected(explored: Explored, wanted: Wanted) -> Selected | None:
    """Return the wanted word of a translation or source, or of a contrastive item what distinguishes its candidates.

    That is the last word of the first place where they differ: the noun after its article. A word of the reference
    alone is the one in its place in the first translation. Raise UserError for a wanted word that nothing has.
    """
    last = len(explored.sentences) - 1
    candidates = explored.sentences[last].candidates
    if wanted.word is None:
        if candidates is None:
            return None
        right, wrong = (candidate.text for candidate in candidates[:2])
        blocks = SequenceMatcher(None, right, wrong, autojunk=False).get_opcodes()
        place = next((stop - 1 for tag, _, stop, _, _ in blocks if tag != "equal"), 0)
        return _in_translation(explored, last, max(place, 0))
    for number in [last] if wanted.of_one_sentence or candidates else range(last + 1):
        sentence = explored.sentences[number]
        for run, of_run in enumerate(explored.runs):
            if (found := _place(wanted.word, of_run.sentences[number].target)) is not None:
                return Selected(sentence=number, run=run, side="target", word=found)
        if (found := _place(wanted.word, sentence.reference or [])) is not None:
            return _in_translation(explored, number, found)
        if (found := _place(wanted.word, sentence.source)) is not None:
            return Selected(sentence=number, run=0, side="source", word=found)
    raise UserError(f"--word is {wanted.word}, which {explored.title} has neither in a translation nor in its text")


def _in_translation(explored: Explored, number: int, place: int) -> Selected | None:
    """Select the word of the first translation that is in the place of one of the reference."""
    reference, target = explored.sentences[number].reference, explored.runs[0].sentences[number].target
    blocks = SequenceMatcher(None, reference or [], target, autojunk=False).get_opcodes()
    words = [min(start + place - first, end - 1) for _, first, stop, start, end in blocks if first <= place < stop]
    return Selected(sentence=number, run=0, side="target", word=max(words[0], 0)) if words and target else None
