"""The part of speech of every word of a text, from gold tags or from a tagger that works offline."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from context_nmt.corpus.vocabulary import Vocabulary
from context_nmt.files import read_json_lines, read_parallel
from context_nmt.measures.evaluation_folder import EvaluationFolder

# The twelve universal tags of Petrov et al. (2012), SYM for their ".", by the tags of the Penn Treebank and of STTS.
# STTS tags before a noun are determiners, except possessives, which are pronouns in the Penn Treebank, too.
UNIVERSAL = {
    "VERB": "VB VBD VBG VBN VBP VBZ MD VVFIN VVIMP VVINF VVIZU VVPP VAFIN VAIMP VAINF VAPP VMFIN VMINF VMPP",
    "NOUN": "NN NNS NNP NNPS NE",
    "PRON": "PRP PRP$ WP WP$ PDS PIS PPER PPOSS PPOSAT PRELS PRELAT PRF PWS",
    "ADJ": "JJ JJR JJS ADJA ADJD",
    "ADV": "RB RBR RBS WRB ADV PWAV PAV PROAV",
    "ADP": "IN APPR APPRART APPO APZR",
    "CONJ": "CC KON KOUI KOUS KOKOM",
    "DET": "DT PDT WDT EX ART PDAT PIAT PIDAT PWAT",
    "NUM": "CD CARD",
    "PRT": "RP TO POS PTKZU PTKNEG PTKVZ PTKANT PTKA",
    "SYM": "# $ '' `` ( ) -LRB- -RRB- , . : $, $. $(",
    "X": "FW LS SYM UH ITJ FM XY TRUNC",
}
UNIVERSAL_OF = {tag: universal for universal, tags in UNIVERSAL.items() for tag in tags.split()}


@dataclass(frozen=True)
class Tags:
    """A tag for each token of each sentence, and their origin: Penn Treebank tags for English, STTS for German."""

    name: str  # for signatures
    tokens: Sequence[Sequence[str]]
    sentences: list[list[str]]

    def universal(self) -> list[list[str]]:
        """Map the tags to universal tags, unknown ones to X."""
        return [[UNIVERSAL_OF.get(tag, "X") for tag in tags] for tags in self.sentences]


def find_tags(experiment: EvaluationFolder, split: str, language: str) -> Tags | None:
    """Return the gold tags of a tokenized split if its tokens have any, else, for English, those of NLTK's tagger.

    Return None if there are neither.
    """
    (lines,) = read_parallel(experiment.tokenized / f"{split}.{language}.cased")
    tokens = [line.split() for line in lines]
    gold = experiment.corpus / f"{split}.gold.jsonl"
    sentences = [record.get(language, {}) for record in read_json_lines(gold)] if gold.exists() else []
    if [sentence.get("tokens") for sentence in sentences] == tokens:
        return Tags("gold-tags", tokens, [sentence["tags"] for sentence in sentences])
    return tagged_by_nltk(tokens, language)


def tagged_by_nltk(sentences: Sequence[Sequence[str]], language: str) -> Tags | None:
    """Tag tokens with NLTK's tagger; return None for a language other than English or without the tagger's data."""
    if language != "en":
        return None
    import nltk  # takes a second, and gold tags do not need it

    try:
        tagged = nltk.pos_tag_sents(sentences)
    except LookupError:
        return None
    name = f"nltk-{nltk.__version__}-perceptron-tagger"
    return Tags(name, sentences, [[tag for _, tag in sentence] for sentence in tagged])


class TaggedWord(NamedTuple):
    """The units of a token, from `start` up to but not including `end`, counted from 0."""

    start: int
    end: int
    tag: str


def tagged_words(
    vocabulary: Vocabulary, units: Sequence[str], tokens: Sequence[str], tags: Sequence[str]
) -> list[TaggedWord]:
    """Combine the units of a sentence with the tags of its tokens; return an empty list if they do not fit.

    Tokens without units are left out; see `Vocabulary.token_spans`.
    """
    spans = vocabulary.token_spans(units, tokens)
    if len(spans) != len(tags):
        return []
    return [TaggedWord(start, end, tag) for (start, end), tag in zip(spans, tags, strict=True) if start < end]
