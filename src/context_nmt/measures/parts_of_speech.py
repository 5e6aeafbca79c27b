"""Parts of speech of the words of a text, from gold tags or an offline tagger."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from context_nmt.corpus.vocabulary import Vocabulary
from context_nmt.files import read_json_lines, read_parallel
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.settings.text import base_language

# Tags of the Penn Treebank and STTS by the twelve universal tags of Petrov et al. (2012), with SYM for their ".".
# STTS's attributive tags are determiners, except possessives, which are also pronouns in the Penn Treebank.
TAGS_OF_UNIVERSAL = {
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
UNIVERSAL_TAGS = {tag: universal for universal, tags in TAGS_OF_UNIVERSAL.items() for tag in tags.split()}


@dataclass(frozen=True)
class Tags:
    """A tag for each token of each sentence: of the Penn Treebank for English, of STTS for German."""

    name: str  # for signatures
    tokens: Sequence[Sequence[str]]
    sentences: list[list[str]]

    def universal(self) -> list[list[str]]:
        """Map the tags to universal tags, unknown ones to X."""
        return [[UNIVERSAL_TAGS.get(tag, "X") for tag in tags] for tags in self.sentences]


def find_tags(experiment: EvaluationFolder, split: str, language: str) -> Tags | None:
    """Return the gold tags of a tokenized split if they fit its tokens, else, for English, the tags of NLTK's tagger.

    Return None if there are neither.
    """
    (lines,) = read_parallel(experiment.tokenized / f"{split}.{language}.cased")
    tokens = [line.split() for line in lines]
    gold = experiment.corpus / f"{split}.gold.jsonl"
    sentences = [record.get(language, {}) for record in read_json_lines(gold)] if gold.exists() else []
    if [sentence.get("tokens") for sentence in sentences] == tokens:
        return Tags("gold-tags", tokens, [sentence["tags"] for sentence in sentences])
    return tag_with_nltk(tokens, language)


def tag_with_nltk(sentences: Sequence[Sequence[str]], language: str) -> Tags | None:
    """Tag tokens with NLTK's tagger; return None if the language is not English or the tagger's data is missing."""
    if base_language(language) != "en":
        return None
    import nltk  # takes a second, and gold tags do not need it

    try:
        tagged = nltk.pos_tag_sents(sentences)
    except LookupError:
        return None
    name = f"nltk-{nltk.__version__}-perceptron-tagger"
    return Tags(name, sentences, [[tag for _, tag in sentence] for sentence in tagged])


class TaggedWord(NamedTuple):
    """The tag of a token, and its units from `start` up to but not including `end`, counted from 0."""

    start: int
    end: int
    tag: str


def tagged_words(
    vocabulary: Vocabulary, units: Sequence[str], tokens: Sequence[str], tags: Sequence[str]
) -> list[TaggedWord]:
    """Combine the units of a sentence with the tags of its tokens; return an empty list if they do not match.

    Tokens without units are left out; see `Vocabulary.token_spans`.
    """
    spans = vocabulary.token_spans(units, tokens)
    if len(spans) != len(tags):
        return []
    return [TaggedWord(start, end, tag) for (start, end), tag in zip(spans, tags, strict=True) if start < end]
