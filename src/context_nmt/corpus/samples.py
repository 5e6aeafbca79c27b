"""Show random documents of a corpus in both languages, with the words that pronouns and ambiguous words depend on."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from context_nmt.corpus.folder import Record, parallel_files, read_split
from context_nmt.files import UserError


def sample_documents(path: Path, *, split: str, documents: int, seed: int) -> Iterator[str]:
    """Yield lines of Markdown with documents drawn at random, in corpus order; without boundaries, draw sentences.

    Raise UserError for an unknown split and for more documents than the split has.
    """
    files = parallel_files(path)
    if split not in files:
        raise UserError(f"--split is {split!r}; {path} has {', '.join(files)}")
    corpus = read_split(path, split, files[split])
    languages = sorted(corpus.text, key=lambda language: (language != "en", language))[:2]  # English on the left
    ranges = corpus.documents or [range(line, line + 1) for line in range(len(corpus))]
    if not 1 <= documents <= len(ranges):
        raise UserError(f"--documents is {documents}; {split} has {len(ranges):,}")
    yield f"# {path.name}, {split}: {documents} of {len(ranges):,} documents, seed {seed}"
    for number in sorted(Random(seed).sample(range(len(ranges)), documents)):
        yield from ("", f"## Document {number}", "", _table_row("", *languages), "| ---: | --- | --- |")
        gold = [corpus.gold[line] if corpus.gold else {} for line in ranges[number]]
        notes: list[str] = []
        for sentence, (line, record) in enumerate(zip(ranges[number], gold, strict=True)):
            texts = {language: corpus.text[language][line] for language in languages}
            if set(languages) <= set(record):
                pronouns, senses = (record.get(key, ()) for key in ("pronouns", "senses"))
                items = [*pronouns, *senses]
                descriptions = [_describe_pronoun(pronoun, record, gold, languages) for pronoun in pronouns]
                descriptions += [_describe_sense(sense, record, gold, languages) for sense in senses]
                notes += [f"- {sentence}[{mark}] {text}" for mark, text in enumerate(descriptions, start=1)]
                for language in languages:
                    marks = {item[language]: mark for mark, item in enumerate(items, start=1)}
                    texts[language] = mark_tokens(texts[language], record[language]["tokens"], marks)
            yield _table_row(str(sentence), *texts.values())
        yield from ("", *notes) if notes else ()


def mark_tokens(text: str, tokens: Sequence[str], marks: dict[int, int]) -> str:
    """Put a number in brackets after each marked token of a raw text."""
    marked, end = "", 0
    for index, token in enumerate(tokens):
        start = text.find(token, end)
        if start < 0:
            continue  # the text spells it differently: a contraction such as `am` is two tokens
        marked += text[end : start + len(token)] + (f"[{marks[index]}]" if index in marks else "")
        end = start + len(token)
    return marked + text[end:]


def _words(item: Record, record: Record, languages: Sequence[str]) -> str:
    """Return the tokens at the positions of an item, in both languages."""
    return " / ".join(record[language]["tokens"][item[language]] for language in languages)


def _describe_pronoun(pronoun: Record, record: Record, document: Sequence[Record], languages: Sequence[str]) -> str:
    """Describe a pronoun by its antecedent and, as long as that is also a pronoun, by the antecedent's antecedent."""
    description = _words(pronoun, record, languages)
    mention: Record | None = pronoun
    while mention is not None:
        antecedent = mention["antecedent"]
        sentence, distance = document[antecedent["sentence"]], record["sentence"] - antecedent["sentence"]
        description += f" < {_words(antecedent, sentence, languages)} ({distance} back)"
        mention = next((pronoun for pronoun in sentence["pronouns"] if pronoun["en"] == antecedent["en"]), None)
    return description


def _describe_sense(sense: Record, record: Record, document: Sequence[Record], languages: Sequence[str]) -> str:
    """Describe an ambiguous word by its sense, its cue and a wrong translation."""
    words = _words(sense, record, languages)
    description = f"{words}: {sense['sense']}, {sense['side']} ambiguous, cue {sense['cue']}"
    if cue := sense.get("cue_word"):
        description += f" ({_words(cue, document[cue['sentence']], languages)})"
    return description + f"; not: {sense['distractor']}"


def _table_row(*cells: str) -> str:
    """Return a line of a Markdown table that shows its cells as they are."""
    escaped = [re.sub(r"[|*]", r"\\\g<0>", cell.replace("\r", " ")) for cell in cells]
    return f"| {' | '.join(escaped)} |"
