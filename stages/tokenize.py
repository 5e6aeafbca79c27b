"""Turn raw text into truecased Moses tokens, or clean it for sentencepiece."""

from context_nmt.corpus.tokenizing import tokenize_corpus
from context_nmt.measures.bleu import bleu_metric
from context_nmt.measures.ceilings import check_ceilings
from context_nmt.measures.scored_text import TextFolder
from context_nmt.settings import read_plan
from context_nmt.settings.evaluation import SignificanceSettings


def main() -> None:
    """Normalize, tokenize and truecase the corpus with sacremoses, and check that the text survives the round trip.

    Reads metrics/plans/text.json and ceilings.json, and the raw text data/NAME/SPLIT.LANGUAGE, one sentence per line,
    which is composed (NFC). LANGUAGE is the language code for Moses; for an unknown language, Moses uses English
    abbreviations and its general rules. A side's script (text.SIDE.script) maps the raw lines first;
    text.SIDE.pretokenized skips normalization and tokenization. The training set is cleaned. If units.kind is
    sentencepiece, only .cased files have tokens, which scores need; the others have the text, with normalized
    punctuation. The references are turned back into text and scored like a perfect system's output: a score below 99 is
    a warning, and below significance.minimum_ceiling an error.

    Writes

        runs/tokenized/SPLIT.LANGUAGE            tokens, truecased, or text
        runs/tokenized/SPLIT.LANGUAGE.cased      validation and test sets: tokens in their original case
        runs/tokenized/SPLIT.LANGUAGE.1.cased    the same for further references, data/NAME/SPLIT.LANGUAGE.1, .2, …
        runs/tokenized/truecaser.LANGUAGE.json   casing statistics of the training text
        runs/tokenized/moses.json                the settings, to convert other text in the same way
        runs/tokenized/SPLIT.documents           where documents start, if data/NAME/SPLIT.documents exists
        runs/tokenized/SET.LANGUAGE              contrastive sets (data/NAME/SET.SOURCE-TARGET.jsonl): distinct pairs
        runs/tokenized/SET.items.json            the pairs of each item: right, wrong and context
        runs/tokenized/cleaning.json             number of training pairs read, kept and dropped, by reason
        metrics/ceilings.json                    {TEST: {"score", "signature"}} of the references, and why one is low

    Example: python stages tokenize
    """
    folder = TextFolder()
    plan = folder.settings
    bleu_metric("sacrebleu", plan.chosen_tokenizer)  # fail early if the tokenizer's package is missing
    tokenize_corpus(folder.corpus, folder.tokenized, plan.corpus, plan.text, untokenized=plan.untokenized)
    check_ceilings(folder, read_plan(SignificanceSettings, folder.stage_plan("ceilings")))
