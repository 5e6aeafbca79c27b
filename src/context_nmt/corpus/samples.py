"""Draw documents of a corpus in both languages, with the words that pronouns and ambiguous words depend on."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from context_nmt.corpus.folder import Record, parallel_files, read_split
from context_nmt.files import UserError


def sampled(path: Path, *, split: str, documents: int, seed: int) -> Iterator[str]:
    """Yield lines of Markdown with documents drawn at random, in their order; without boundaries, with sentences.

    Raise UserError for an unknown split and for more documents than there are.
    """
    files = parallel_files(path)
    if split not in files:
        raise UserError(f"--split is {split!r}; {path} has {', '.join(files)}")
    drawn = read_split(path, split, files[split])
    languages = sorted(drawn.text, key=lambda language: (language != "en", language))[:2]  # English on the left
    ranges = drawn.documents or [range(line, line + 1) for line in range(len(drawn))]
    if not 1 <= documents <= len(ranges):
        raise UserError(f"--documents is {documents}; {split} has {len(ranges):,}")
    yield f"# {path.name}, {split}: {documents} of {len(ranges):,} documents, seed {seed}"
    for number in sorted(Random(seed).sample(range(len(ranges)), documents)):
        yield from ("", f"## Document {number}", "", _row("", *languages), "| ---: | --- | --- |")
        gold = [drawn.gold[line] if drawn.gold else {} for line in ranges[number]]
        remarks: list[str] = []
        for place, (line, record) in enumerate(zip(ranges[number], gold, strict=True)):
            sides = [drawn.text[language][line] for language in languages]
            if set(languages) <= set(record):
                items = [*record["pronouns"], *record["senses"]]
                said = [_on_pronoun(pronoun, record, gold, languages) for pronoun in record["pronouns"]]
                said += [_on_sense(sense, record, gold, languages) for sense in record["senses"]]
                remarks += [f"- {place}[{mark}] {remark}" for mark, remark in enumerate(said, start=1)]
                for side, language in enumerate(languages):
                    marks = {item[language]: mark for mark, item in enumerate(items, start=1)}
                    sides[side] = mark_tokens(sides[side], record[language]["tokens"], marks)
            yield _row(str(place), *sides)
        yield from ("", *remarks) if remarks else ()


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


def _words(item: Record, record: Record, languages: Sequence[str]) -> str:
    """Return the tokens that an item names, in both languages."""
    return " / ".join(record[language]["tokens"][item[language]] for language in languages)


def _on_pronoun(pronoun: Record, record: Record, document: Sequence[Record], languages: Sequence[str]) -> str:
    """Describe a pronoun by its nearest mention and, as long as that is a pronoun, the one before it."""
    remark = _words(pronoun, record, languages)
    mention: Record | None = pronoun
    while mention is not None:
        antecedent = mention["antecedent"]
        sentence, distance = document[antecedent["sentence"]], record["sentence"] - antecedent["sentence"]
        remark += f" < {_words(antecedent, sentence, languages)} ({distance} back)"
        mention = next((one for one in sentence["pronouns"] if one["en"] == antecedent["en"]), None)
    return remark


def _on_sense(sense: Record, record: Record, document: Sequence[Record], languages: Sequence[str]) -> str:
    """Describe an ambiguous word by its sense, its cue and a wrong translation."""
    remark = f"{_words(sense, record, languages)}: {sense['sense']}, {sense['side']} ambiguous, cue {sense['cue']}"
    if cue := sense.get("cue_word"):
        remark += f" ({_words(cue, document[cue['sentence']], languages)})"
    return remark + f"; not: {sense['distractor']}"


def _row(*cells: str) -> str:
    """Return a line of a Markdown table that shows its cells as they are."""
    escaped = [re.sub(r"[|*]", r"\\\g<0>", cell.replace("\r", " ")) for cell in cells]
    return f"| {' | '.join(escaped)} |"
