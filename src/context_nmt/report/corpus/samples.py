"""Draw documents of a corpus in both languages, with the words that pronouns and ambiguous words depend on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from context_nmt.files import UserError
from context_nmt.report.corpus.folder import CorpusFolder, Record
from context_nmt.report.formats import write_page


@dataclass(frozen=True)
class SampledSentence:
    """A sentence: its text in both languages, with marks, and a remark for each mark."""

    texts: tuple[str, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sample:
    """The documents of a sample, with a title that names their source."""

    title: str
    languages: tuple[str, ...]
    documents: dict[int, list[SampledSentence]]  # by their number, from 0


def draw_sample(path: Path, *, split: str, documents: int, seed: int) -> Sample:
    """Draw documents at random and keep their order; without document boundaries, draw sentences.

    Raise UserError for an unknown split and for more documents than there are.
    """
    corpus = CorpusFolder(path)
    if split not in corpus.languages:
        raise UserError(f"--split is {split!r}; {path} has {', '.join(corpus.languages)}")
    text = corpus.text(split)
    languages = tuple(sorted(text, key=lambda language: (language != "en", language))[:2])  # English on the left
    sentences = len(text[languages[0]])
    ranges = corpus.documents(split, sentences) or [range(line, line + 1) for line in range(sentences)]
    if not 1 <= documents <= len(ranges):
        raise UserError(f"--documents is {documents}; {split} has {len(ranges):,}")
    gold = corpus.gold(split, sentences) or [{}] * sentences
    chosen = sorted(Random(seed).sample(range(len(ranges)), documents))
    return Sample(
        title=f"{path.name}, {split}: {documents} of {len(ranges):,} documents, seed {seed}",
        languages=languages,
        documents={
            number: [
                _sentence(tuple(text[language][line] for language in languages), line, ranges[number], gold, languages)
                for line in ranges[number]
            ]
            for number in chosen
        },
    )


def _sentence(
    texts: tuple[str, ...], line: int, document: range, gold: Sequence[Record], languages: tuple[str, ...]
) -> SampledSentence:
    record = gold[line]
    if not set(languages) <= set(record):
        return SampledSentence(texts)
    document_records = [gold[index] for index in document]
    remarked = [(pronoun, _on_pronoun(pronoun, record, document_records, languages)) for pronoun in record["pronouns"]]
    remarked += [(sense, _on_sense(sense, record, document_records, languages)) for sense in record["senses"]]
    marked = [
        mark_tokens(
            text,
            record[language]["tokens"],
            {item[language]: number for number, (item, _) in enumerate(remarked, start=1)},
        )
        for text, language in zip(texts, languages, strict=True)
    ]
    return SampledSentence(tuple(marked), tuple(remark for _, remark in remarked))


def mark_tokens(text: str, tokens: Sequence[str], marks: dict[int, int]) -> str:
    """Put a number in brackets after each marked token of a raw text."""
    marked, end = "", 0
    for index, token in enumerate(tokens):
        start = text.find(token, end)
        if start < 0:
            continue  # the text spells it differently: contractions such as `am` are two tokens
        marked += text[end : start + len(token)] + (f"[{marks[index]}]" if index in marks else "")
        end = start + len(token)
    return marked + text[end:]


def _words(item: Record, record: Record, languages: tuple[str, ...]) -> str:
    """Return the tokens that an item names, in both languages."""
    return " / ".join(record[language]["tokens"][item[language]] for language in languages)


def _on_pronoun(pronoun: Record, record: Record, document: Sequence[Record], languages: tuple[str, ...]) -> str:
    """Describe a pronoun by its nearest mention and, as long as that is a pronoun, the one before it."""
    remark = _words(pronoun, record, languages)
    mention: Record | None = pronoun
    while mention is not None:
        antecedent = mention["antecedent"]
        antecedent_record, distance = document[antecedent["sentence"]], record["sentence"] - antecedent["sentence"]
        remark += f" < {_words(antecedent, antecedent_record, languages)} ({distance} back)"
        mention = next(
            (candidate for candidate in antecedent_record["pronouns"] if candidate["en"] == antecedent["en"]), None
        )
    return remark


def _on_sense(sense: Record, record: Record, document: Sequence[Record], languages: tuple[str, ...]) -> str:
    """Describe an ambiguous word by its sense, its cue and a wrong translation."""
    remark = f"{_words(sense, record, languages)}: {sense['sense']}, {sense['side']} ambiguous, cue {sense['cue']}"
    if sense.get("cue_word"):
        cue = sense["cue_word"]
        remark += f" ({_words(cue, document[cue['sentence']], languages)})"
    return remark + f"; not: {sense['distractor']}"


def print_sample(sample: Sample) -> None:
    """Print a table per document to standard output."""
    console = Console()
    console.print(sample.title, markup=False, highlight=False)
    for number, sentences in sample.documents.items():
        table = Table(*sample.languages, title=f"Document {number}", title_justify="left", box=box.SIMPLE_HEAD)
        for sentence in sentences:
            table.add_row(*map(Text, sentence.texts))
        console.print(table)
        for index, sentence in enumerate(sentences):
            for mark, remark in enumerate(sentence.remarks, start=1):
                console.print(f"  {index}[{mark}] {remark}", markup=False, highlight=False, soft_wrap=True)


def write_sample(sample: Sample, path: Path) -> None:
    """Write a sample as Markdown; raise UserError unless the name ends in .md."""
    if path.suffix != ".md":
        raise UserError(f"--output is {path}; its name must end in .md")
    write_page(path, "sample.md.j2", sample=sample)
