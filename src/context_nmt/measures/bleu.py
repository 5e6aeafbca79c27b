"""Corpus scores of a translation, computed by sacrebleu, each with the signature of its computation.

bleu_tokenized       multi-bleu.perl: the tokens as they are, cased, no smoothing
bleu_compound_split  tensor2tensor's get_ende_bleu: hyphenated compounds split on both sides, then as bleu_tokenized
bleu_lowercased      bleu_tokenized of lower-cased tokens
sacrebleu            raw text, split by the language's tokenizer, mostly 13a (as in mteval-v13a); cased
d_bleu               d-BLEU: sacrebleu of documents, each joined into one line (Liu et al. 2020)
chrf                 character n-grams of the raw text (Popović 2015)
chrf_plus_plus       chrF++: character n-grams, and word n-grams up to 2 (Popović 2017)
ter                  translation edit rate of lower-cased words, split at spaces (Snover et al. 2006); lower is better
"""

import re
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from typing import Any

import sacrebleu
from sacrebleu.metrics.base import Metric

from context_nmt.corpus.moses import MosesSide
from context_nmt.files import UserError
from context_nmt.progress import tracked
from context_nmt.settings.text import SideSettings, base_language

Score = dict[str, Any]  # {"score": float, "signature": str}
Texts = Sequence[Sequence[str]]  # a hypothesis and references, or references: lists of parallel lines

# With normalized punctuation, text in these languages has no marks or inner apostrophes that sacremoses would separate.
LANGUAGES_OF_PLAIN_MOSES = frozenset(("cs", "de", "en", "es", "fi", "fr", "ro", "ru", "vi"))
COMPOUND = re.compile(r"(\S)-(\S)")
MOSES_HYPHEN = "@-@"  # a hyphen that aggressive splitting has already separated


def split_compounds(line: str) -> str:
    """Split `X-Y` into `X ##AT##-##AT## Y`, as tensor2tensor's get_ende_bleu.sh does."""
    tokens = (token if token == MOSES_HYPHEN else COMPOUND.sub(r"\1 ##AT##-##AT## \2", token) for token in line.split())
    return " ".join(tokens)


OTHER_METRICS: dict[str, Callable[[], Metric]] = {
    "chrf": sacrebleu.CHRF,
    "chrf_plus_plus": lambda: sacrebleu.CHRF(word_order=2),
    "ter": sacrebleu.TER,
}


def metric_named(name: str, tokenizer: str) -> Metric:
    """Return sacrebleu's metric for one of the scores of lines; for BLEU, see `bleu_metric`."""
    return OTHER_METRICS[name]() if name in OTHER_METRICS else bleu_metric(name, tokenizer)


def bleu_metric(name: str, tokenizer: str) -> sacrebleu.BLEU:
    """Return the metric for `sacrebleu` of raw text with a tokenizer, or for one of the tokenized scores.

    Raise UserError for a tokenizer that needs a package or a model that is missing.
    """
    if name == "sacrebleu":
        try:
            return sacrebleu.BLEU(tokenize=tokenizer, force=True)  # `score_files` itself warns about tokenized text
        except RuntimeError:
            extra = tokenizer.removesuffix("-mecab")
            reason = f"needs further packages: pip install 'sacrebleu[{extra}]'"
        except OSError:
            reason = "needs a model that could not be downloaded"
        raise UserError(
            f"sacrebleu's tokenizer {tokenizer} {reason}; or choose another, such as char, by significance.tokenizer in"
            " params.yaml or --tokenizer"
        )
    return sacrebleu.BLEU(tokenize="none", smooth_method="none", lowercase=name == "bleu_lowercased", force=True)


def score_sacrebleu(hypothesis: Sequence[str], references: Texts, *, tokenizer: str, **notes: str) -> Score:
    """Return the score `sacrebleu` of raw text; see `score_raw`."""
    return _score(bleu_metric("sacrebleu", tokenizer), hypothesis, references, **notes)


def score_raw(hypothesis: Sequence[str], references: Texts, *, tokenizer: str, **notes: str) -> dict[str, Score]:
    """Return the scores that are defined on raw, detokenized text, with the notes in their signatures.

    Raise UserError if a package or model that sacrebleu's tokenizer needs is not installed.
    """
    return {
        name: _score(metric_named(name, tokenizer), hypothesis, references, **notes)
        for name in ("sacrebleu", *OTHER_METRICS)
    }


def score_documents(
    hypothesis: Sequence[str], references: Texts, documents: Iterable[range], *, tokenizer: str, **notes: str
) -> dict[str, Score]:
    """Return the score `d_bleu` of raw lines; `documents` has the line numbers of each document, from 0."""
    spans = [slice(document.start, document.stop) for document in documents]
    joined = [[" ".join(lines[span]) for span in spans] for lines in (hypothesis, *references)]
    return {"d_bleu": _score(bleu_metric("sacrebleu", tokenizer), joined[0], joined[1:], **notes, lines="documents")}


def score_tokenized(hypothesis: Sequence[str], references: Texts, *, text: str) -> dict[str, Score]:
    """Return the scores that are defined on tokens; `text` names their origin in the signature."""
    split = [[split_compounds(line) for line in lines] for lines in (hypothesis, *references)]
    metric, lowercased = (bleu_metric(name, "none") for name in ("bleu_tokenized", "bleu_lowercased"))
    return {
        "bleu_tokenized": _score(metric, hypothesis, references, text=text),
        "bleu_compound_split": _score(metric, split[0], split[1:], text=text, compounds="split"),
        "bleu_lowercased": _score(lowercased, hypothesis, references, text=text),
    }


def score_raw_and_tokenized(
    hypothesis: Sequence[str], references: Texts, *, language: str, tokenizer: str
) -> dict[str, Score]:
    """Return all scores of raw text, which the Moses tokenizer of `language` splits for the tokenized scores."""
    tokens = [moses_tokens(lines, language) for lines in (hypothesis, *references)]
    text = tokenizer_name(language, normalized=False)
    raw = score_raw(hypothesis, references, tokenizer=tokenizer)
    return raw | score_tokenized(tokens[0], tokens[1:], text=text)


def moses_tokens(lines: Sequence[str], language: str) -> list[str]:
    """Return the Moses tokens of raw lines, cased, hyphens kept."""
    side = MosesSide(language, SideSettings(normalize_punctuation=False))
    return [side.tokens(line) for line in tracked(lines, "Moses tokens", len(lines), "lines")]


def tokenizer_name(language: str, *, normalized: bool) -> str:
    """Return the name of the tokenizer that made Moses tokens, for signatures.

    Older results have the tokens of sacremoses alone; a tokenizer that splits differently must not share their name.
    """
    language = base_language(language)
    name = f"moses-{language}-sacremoses-{version('sacremoses')}"
    return name if normalized and language in LANGUAGES_OF_PLAIN_MOSES else f"{name}+joined-marks"


def _score(metric: Any, hypothesis: Sequence[str], references: Texts, **notes: str) -> Score:
    score = metric.corpus_score(hypothesis, references).score
    signature = "|".join([str(metric.get_signature()), *(f"{key}:{value}" for key, value in notes.items())])
    return {"score": round(score, 4), "signature": signature}
