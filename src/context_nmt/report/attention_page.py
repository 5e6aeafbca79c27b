"""Translate a document of a test set and show where its words looked: all on one HTML page, or one in a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.decoding.translating import translate_ids
from context_nmt.decoding.workers import usable
from context_nmt.files import UserError
from context_nmt.measures.attention.earlier_sentences import Looks, looks, modules_that_show
from context_nmt.measures.discourse.word_accuracy import PRONOUNS
from context_nmt.models.checkpoints import load_run, weights_of_run
from context_nmt.models.devices import device_named
from context_nmt.models.kinds.document import DocumentModel
from context_nmt.progress import say
from context_nmt.report.formats import write_page
from context_nmt.settings import read_settings
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.layout import Layout
from context_nmt.settings.run_layout import run_name

SHOWN = 0.01  # the smallest weight of a word that is marked
TITLES = {
    "encoder_output": "After the encoder: where each source word looked",
    "decoder_output": "After the decoder: where the model looked when it produced each word",
}


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A translated sentence and where its words looked."""

    line: int  # of the test set, from 1
    source: list[str]
    translation: list[str]
    reference: list[str]
    seen_target: list[str]  # the target side as later sentences see it
    looks: list[Looks]


def show_document(
    experiment: Layout,
    variant: str,
    seed: int,
    *,
    test: str,
    document: int,
    most: int,
    word: str | None = None,
    output: Path,
    device: str,
) -> None:
    """Write the page of the first `most` sentences of a document, counted from 1; raise UserError if there is none.

    If `output` ends in .svg, draw `word` in the last of these sentences instead; the default is its first pronoun.
    """
    if word and output.suffix != ".svg":
        raise UserError(f"--word is {word}, but --output is {output}; it is only for a picture, FILE.svg")
    run = run_name(variant, seed)
    weights_of_run(experiment.model(run))  # first: without a run, the other files are missing, too
    corpus = BinarizedCorpus(experiment.binarized)
    lines = list(_document(corpus, test, document))[:most]
    settings, torch_device = read_settings(DecodingSettings, experiment.plan(variant, "decoding")), device_named(device)
    model = load_run(experiment.model(run), torch_device, corpus)
    modules_that_show(model)
    assert isinstance(model, DocumentModel)
    sources, references = ([side[line] for line in lines] for side in corpus.parallel(test))
    hypotheses = translate_ids(
        model,
        sources,
        settings,
        documents=[range(len(lines))],
        references=references if settings.reference_context else None,
        device=torch_device,
        progress=run,
        workers=usable(torch_device),
    )
    translations = [np.array(candidates[0].tokens, dtype=np.int64) for candidates in hypotheses]
    target_context = references if settings.reference_context else translations
    vocabularies = {"source": corpus.source_vocabulary, "target": corpus.target_vocabulary}
    looks_by_sentence = looks(model, sources, translations, target_context, vocabularies)
    sentences = [
        Sentence(
            line=line + 1,
            source=vocabularies["source"].words(sources[index]),
            translation=vocabularies["target"].words(translations[index]),
            reference=vocabularies["target"].words(references[index]),
            seen_target=vocabularies["target"].words(target_context[index]),
            looks=looks_by_sentence[index],
        )
        for index, line in enumerate(lines)
    ]
    languages = {"source": corpus.source, "target": corpus.target}
    title = f"{run}, {test}, document {document}"
    if output.suffix == ".svg":
        write_attention_picture(output, title, sentences, languages, word)
    else:
        write_attention_page(output, title, sentences, languages, oracle=settings.reference_context)
    say(f"written: {output}")


def _document(corpus: BinarizedCorpus, test: str, number: int) -> range:
    if test not in corpus.tests:
        raise UserError(f"--test is {test}; the test sets are {', '.join(corpus.tests)} (corpus.tests)")
    documents = corpus.documents(test)
    if documents is None:
        raise UserError(f"--test is {test}, which has no documents: data/CORPUS/{test}.documents is missing")
    if not 1 <= number <= len(documents):
        raise UserError(f"--document is {number}; {test} has the documents 1 to {len(documents)}")
    return documents[number - 1]


def write_attention_page(
    path: Path, title: str, sentences: list[Sentence], languages: dict[str, str], *, oracle: bool
) -> None:
    """Write the page of a document's sentences; `languages` names those of `source` and `target`."""
    write_page(
        path,
        "attention.html.j2",
        title=title,
        titles=TITLES,
        sentences=sentences,
        languages=languages,
        pronouns={side: PRONOUNS.get(language, "").split() for side, language in languages.items()},
        shown=SHOWN,
        oracle=oracle,
    )


def write_attention_picture(
    path: Path, title: str, sentences: list[Sentence], languages: dict[str, str], word: str | None = None
) -> None:
    """Draw where one word of the last sentence looked, by its first module that has seen a previous sentence.

    The default is the sentence's first pronoun. Raise UserError if the sentence has no such word, or none before it.
    """
    last = sentences[-1]
    looks = next((looks for looks in last.looks if looks.words), None)
    if looks is None:
        raise UserError(f"sentence {len(sentences)} has no previous sentence; choose a later one with --sentences")
    pronouns = {side: PRONOUNS.get(language, "").split() for side, language in languages.items()}
    words = last.source if looks.own_side == "source" else last.translation
    wanted = [word.lower()] if word else pronouns[looks.own_side]
    place = next((place for place, one in enumerate(words) if one.lower() in wanted), None)
    if place is None:
        raise UserError(
            f"sentence {len(sentences)} has no {f'word {word!r}' if word else 'pronoun'}: {' '.join(words)};"
            " choose with --word, or another sentence with --sentences"
        )
    rows = []
    for seen in looks.words[place]:
        texts = getattr(sentences[seen.number], "source" if looks.seen_side == "source" else "seen_target")
        rows.append(_Line(f"{len(sentences) - 1 - seen.number} back", looks.seen_side, texts, seen.words, seen.weight))
    for label, side in (("source", "source"), ("translation", "target"), ("reference", "target")):
        texts = getattr(last, label)
        marks = [index == place if texts is words else one.lower() in pronouns[side] for index, one in enumerate(texts)]
        rows.append(_Line(label, side, texts, marks))
    write_page(
        path,
        "attention.svg.j2",
        title=f"{title}: where “{words[place]}” looks",
        lines=rows,
        languages=languages,
        characters=max(len(" ".join(row.words)) for row in rows),
    )


@dataclass(frozen=True)
class _Line:
    """A line of the picture."""

    label: str
    side: str  # source, target
    words: list[str]
    shares: Sequence[float]  # of the word's attention; of the sentence itself, 1 for a word in colour
    weight: float | None = None  # of a previous sentence

    @property
    def starts(self) -> list[int]:
        """The column of each word's first character."""
        return list(accumulate((len(word) + 1 for word in self.words[:-1]), initial=0))
