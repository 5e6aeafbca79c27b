"""Turn raw text into truecased Moses tokens, or clean it for sentencepiece."""

from context_nmt.command_line import run
from context_nmt.corpus.tokenizing import tokenize_corpus
from context_nmt.settings.checking import read_plan
from context_nmt.settings.run_layout import RunLayout
from context_nmt.settings.text import TextPlan


def main() -> None:
    """Normalise, tokenize and truecase the corpus with sacremoses, and clean its training set.

    Reads metrics/plans/text.json and the raw text data/NAME/SPLIT.LANGUAGE, one sentence per line. The suffix is the
    language code for Moses; for a language it does not know, Moses uses English abbreviations and its general rules.
    A side's script (text.SIDE.script) maps the raw lines first; text.SIDE.pretokenized skips normalization and
    tokenization. If units.kind is sentencepiece, only .cased files have tokens, which scores need; the others have the
    text, with its punctuation normalized.

    Writes

        runs/tokenized/SPLIT.LANGUAGE            tokens, truecased, or text
        runs/tokenized/SPLIT.LANGUAGE.cased      validation and test sets: tokens in their original case
        runs/tokenized/SPLIT.LANGUAGE.1.cased    the same for further references, data/NAME/SPLIT.LANGUAGE.1, .2, …
        runs/tokenized/truecaser.LANGUAGE.json   casing statistics of the training text
        runs/tokenized/moses.json                the settings, to convert other text in the same way
        runs/tokenized/SPLIT.documents           where documents start, if data/NAME/SPLIT.documents exists
        runs/tokenized/SET.LANGUAGE              contrastive sets (data/NAME/SET.SOURCE-TARGET.jsonl): distinct pairs
        runs/tokenized/SET.items.json            the pairs of each item: right, wrong and context
        runs/tokenized/cleaning.json             training pairs read, kept and dropped, by reason

    Example: python stages tokenize
    """
    layout = RunLayout()
    plan = read_plan(TextPlan, layout.stage_plan("text"))
    raw = layout.data(plan.corpus.name)
    tokenize_corpus(raw, layout.tokenized, plan.corpus, plan.text, untokenized=plan.untokenized)


if __name__ == "__main__":
    run(main)
