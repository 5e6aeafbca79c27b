"""Write the miniature corpus: parallel text with gold annotation, contrastive sets and probing tasks.

The README.md of this folder lists the files. Every document and item is drawn from a random generator of its own,
seeded by the corpus's seed and its own number: a larger size, or one more kind of file, leaves the rest as it is.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random

from context_nmt.corpus.workers import in_parallel, usable_cores
from context_nmt.files import replacing_folder, write_lines
from context_nmt.miniature.bound import Oracle
from context_nmt.miniature.contrasts import CONTRASTIVE_SETS, SHORT, Contrasts, with_mirrors
from context_nmt.miniature.documents import Document
from context_nmt.miniature.english_syntax import English
from context_nmt.miniature.gold import english_record, gold_records
from context_nmt.miniature.lexicon import Vocabulary, load_lexicon
from context_nmt.miniature.meaning import AS_IT_IS, Sentence
from context_nmt.miniature.probing import write_probing_tasks
from context_nmt.miniature.probing_samples import ParsedSentence
from context_nmt.miniature.realising import Realised, realise
from context_nmt.miniature.words import LANGUAGES
from context_nmt.progress import Progress, tracked
from context_nmt.settings.miniature import MiniatureSettings

Drawn = tuple[list[Sentence], list[Realised]]


def generate(settings: MiniatureSettings, destination: Path) -> None:
    """Write the corpus into the folder `destination`, whole or not at all; the same settings give the same bytes."""
    with replacing_folder(destination) as folder:
        tasks = (Generation(settings, folder).run, partial(_write_probing, settings, folder / "probing"))
        workers = min(len(tasks), usable_cores())
        for _ in in_parallel(lambda number: tasks[number](), range(len(tasks)), workers, ordered=False):
            pass


class Generation:
    """A corpus under construction."""

    def __init__(self, settings: MiniatureSettings, folder: Path):
        self._settings, self._folder = settings, folder
        self._vocabulary = Vocabulary(load_lexicon())
        self._held_out: set[str] = set()  # sentences and whole documents that training may not contain
        self._oracles = {source: Oracle(self._vocabulary, source) for source in LANGUAGES}

    def run(self) -> None:
        """Write all files except the probing tasks."""
        test = list(self._documents("test", self._settings.test))
        self._hold_out(text for _, realised in test for text in _texts(realised))
        self._contrasts()
        valid = list(self._documents("valid", self._settings.valid))
        self._hold_out(text for _, realised in valid for text in _texts(realised))
        self._write("train", self._documents("train", self._settings.train), self._oracles.values())
        for split, documents in (("valid", valid), ("test", test)):
            self._write(split, documents)
            self._bound(split, documents)

    def _documents(self, split: str, sentences: int) -> Iterator[Drawn]:
        """Yield documents until they have enough sentences; replace each one that contains held-out text."""
        number = 0
        with Progress(split, sentences, "sentences") as progress:
            while progress.done < sentences:
                random = Random(f"{self._settings.seed} {split} {number}")
                number += 1
                plan = Document(self._vocabulary, self._settings.rates, random).plan()
                realised = [realise(sentence) for sentence in plan]
                if self._held_out.isdisjoint(_texts(realised)):
                    progress.advance(len(plan))
                    yield plan, realised

    def _hold_out(self, texts: Iterable[str]) -> None:
        self._held_out.update(text for text in texts if len(text.split()) > SHORT)

    def _write(self, split: str, documents: Iterable[Drawn], learning: Iterable[Oracle] = ()) -> None:
        lines = 0
        with ExitStack() as stack:
            english, german, index, gold = (
                stack.enter_context((self._folder / f"{split}.{name}").open("w", encoding="utf-8", newline=""))
                for name in ("en", "de", "documents", "gold.jsonl")
            )
            for number, (sentences, realised_sentences) in enumerate(documents):
                index.write(f"{lines}\n")
                lines += len(sentences)
                for sentence, realised in zip(sentences, realised_sentences, strict=True):
                    english.write(realised.text("en") + "\n")
                    german.write(realised.text("de") + "\n")
                    for oracle in learning:
                        oracle.learn(sentence, realised)
                for record in gold_records(self._vocabulary.lexicon, number, sentences, realised_sentences):
                    gold.write(json.dumps(record, ensure_ascii=False) + "\n")

    def _bound(self, split: str, documents: Iterable[Drawn]) -> None:
        for source, target in (("en", "de"), ("de", "en")):
            translations = (
                realise(sentence.ordered_as(source), self._oracles[source].guesses(sentence, realised)).text(target)
                for sentences, realised_sentences in documents
                for sentence, realised in zip(sentences, realised_sentences, strict=True)
            )
            write_lines(self._folder / f"{split}.bound.{target}", translations)

    def _contrasts(self) -> None:
        for source, target in (("en", "de"), ("de", "en")):
            contrasts = Contrasts(self._vocabulary, self._settings, source)
            for contrastive_set in CONTRASTIVE_SETS:
                name = f"{contrastive_set}.{source}-{target}"
                items = with_mirrors(tracked(contrasts.items(contrastive_set), name, unit="items"))
                self._hold_out(line for item in items for line in (item["source"], item["right"], *item["wrong"]))
                write_lines(self._folder / f"{name}.jsonl", (json.dumps(item, ensure_ascii=False) for item in items))


def _write_probing(settings: MiniatureSettings, folder: Path) -> None:
    vocabulary = Vocabulary(load_lexicon())
    sentences: list[ParsedSentence] = []
    for number in range(settings.probing.documents):
        random = Random(f"{settings.seed} probing {number}")
        for sentence in Document(vocabulary, settings.probing_rates, random).plan():
            record = english_record(English(AS_IT_IS).sentence(sentence))
            sentences.append(ParsedSentence.from_gold(record))
    write_probing_tasks(sentences, folder, settings.probing, Random(f"{settings.seed} probing tasks"))


def _texts(words: list[Realised]) -> list[str]:
    """Return the sentences of a document and the document as a whole, in both languages."""
    sides = [[sentence.text(language) for sentence in words] for language in LANGUAGES]
    return [text for lines in sides for text in (*lines, "\n".join(lines))]
