"""Draws documents of a corpus, side by side for a reader, with what pronouns and ambiguous words depend on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from context_nmt.files import UserError, replacing
from context_nmt.report.corpus.folder import CorpusFolder, Record

Side = tuple[str, str]  # the text of a sentence in both languages


@dataclass(frozen=True)
class SampledSentence:
    """A line of a split, from 0, with its marked text and one remark for each mark."""

    line: int
    text: Side
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Sample:
    """Documents, and what they were drawn from."""

    title: str
    languages: Side
    documents: tuple[tuple[int, tuple[SampledSentence, ...]], ...]  # with their number, from 0


def draw_sample(path: Path, *, split: str, documents: int, seed: int) -> Sample:
    """Draw documents at random, in their order; without document boundaries each sentence is one.

    Raises UserError for an unknown split and for more documents than there are.
    """
    corpus = CorpusFolder(path)
    if split not in corpus.languages:
        raise UserError(f"--split is {split!r}; {path} has {', '.join(corpus.splits)}")
    text = corpus.text(split)
    first, second = _two_languages(corpus.languages[split])
    sentences = len(text[first])
    ranges = corpus.documents(split, sentences) or [range(line, line + 1) for line in range(sentences)]
    if not 1 <= documents <= len(ranges):
        raise UserError(f"--documents is {documents}; {split} has {len(ranges):,}")
    gold = corpus.gold(split, sentences)
    chosen = sorted(Random(seed).sample(range(len(ranges)), documents))
    return Sample(
        title=f"{path.name}, {split}: {documents} of {len(ranges):,} documents, seed {seed}",
        languages=(first, second),
        documents=tuple(
            (
                number,
                tuple(
                    _sentence(line, ranges[number], (text[first], text[second]), (first, second), gold)
                    for line in ranges[number]
                ),
            )
            for number in chosen
        ),
    )


def _two_languages(languages: Sequence[str]) -> Side:
    """English on the left, where it is one of them."""
    ordered = sorted(languages, key=lambda language: (language != "en", language))
    return ordered[0], ordered[1]


def _sentence(
    line: int, document: range, texts: tuple[Sequence[str], Sequence[str]], languages: Side, gold: list[Record] | None
) -> SampledSentence:
    both = (texts[0][line], texts[1][line])
    if gold is None or not set(languages) <= set(gold[line]):
        return SampledSentence(line, both, ())
    record = gold[line]
    remarked = [(pronoun, _on_pronoun(pronoun, record, document, gold, languages)) for pronoun in record["pronouns"]]
    remarked += [(sense, _on_sense(sense, record, document, gold, languages)) for sense in record["senses"]]
    marks = [{item[language]: number for number, (item, _) in enumerate(remarked, start=1)} for language in languages]
    marked = [
        mark_tokens(text, record[language]["tokens"], places)
        for text, language, places in zip(both, languages, marks, strict=True)
    ]
    return SampledSentence(line, (marked[0], marked[1]), tuple(remark for _, remark in remarked))


def mark_tokens(text: str, tokens: Sequence[str], marks: dict[int, int]) -> str:
    """Put a number in brackets behind some of the tokens of a raw text."""
    marked, end = "", 0
    for place, token in enumerate(tokens):
        start = text.find(token, end)
        if start < 0:
            continue  # spelled otherwise than in the text, such as the `am` that is a contraction of two
        marked += text[end : start + len(token)] + (f"[{marks[place]}]" if place in marks else "")
        end = start + len(token)
    return marked + text[end:]


def _words(item: Record, record: Record, languages: Side) -> str:
    """The tokens that an item names, in both languages."""
    return " / ".join(record[language]["tokens"][item[language]] for language in languages)


def _on_pronoun(pronoun: Record, record: Record, document: range, gold: Sequence[Record], languages: Side) -> str:
    """The nearest mention, and if that is a pronoun, the one before it, down to a noun or name."""
    remark, sentence = _words(pronoun, record, languages), record["sentence"]
    mention: Record | None = pronoun
    while mention is not None:
        antecedent = mention["antecedent"]
        earlier = gold[document[antecedent["sentence"]]]
        remark += f" < {_words(antecedent, earlier, languages)} ({sentence - antecedent['sentence']} back)"
        mention = next((other for other in earlier["pronouns"] if other["en"] == antecedent["en"]), None)
    return remark


def _on_sense(sense: Record, record: Record, document: range, gold: Sequence[Record], languages: Side) -> str:
    remark = f"{_words(sense, record, languages)}: {sense['sense']}, {sense['side']} ambiguous, cue {sense['cue']}"
    if sense.get("cue_word"):
        cue = sense["cue_word"]
        remark += f" ({_words(cue, gold[document[cue['sentence']]], languages)})"
    return remark + f"; not: {sense['distractor']}"


def print_sample(sample: Sample) -> None:
    """Print a table per document to standard output."""
    console = Console()
    console.print(sample.title, markup=False, highlight=False)
    for number, sentences in sample.documents:
        table = Table(*sample.languages, title=f"Document {number}", title_justify="left", box=box.SIMPLE_HEAD)
        for sentence in sentences:
            table.add_row(*map(Text, sentence.text))
        console.print(table)
        for sentence in sentences:
            for mark, remark in enumerate(sentence.remarks, start=1):
                place = f"  {sentence.line - sentences[0].line}[{mark}] "
                console.print(place + remark, markup=False, highlight=False, soft_wrap=True)


def write_sample(sample: Sample, path: Path) -> None:
    """Write Markdown, whole or not at all."""
    if path.suffix != ".md":
        raise UserError(f"--output is {path}; its name must end in .md")
    lines = [f"# {sample.title}"]
    for number, sentences in sample.documents:
        first, second = sample.languages
        lines += ["", f"## Document {number}", "", f"|  | {first} | {second} |", "| ---: | --- | --- |"]
        for place, sentence in enumerate(sentences):
            lines.append(f"| {place} | " + " | ".join(text.replace("|", "\\|") for text in sentence.text) + " |")
        remarks = [
            f"- {place}[{mark}] {remark}"
            for place, sentence in enumerate(sentences)
            for mark, remark in enumerate(sentence.remarks, start=1)
        ]
        lines += ["", *remarks] if remarks else []
    with replacing(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
