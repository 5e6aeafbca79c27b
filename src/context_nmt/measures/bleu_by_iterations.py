"""BLEU of mask-predict by its number of iterations (Ghazvininejad et al. 2019)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.text_chain import TextChain
from context_nmt.decoding.translating import translate_ids
from context_nmt.measures.bleu import bleu_metric
from context_nmt.measures.rows import Row, row
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.models.model import Model
from context_nmt.settings.decoding import DecodingSettings

ITERATIONS = (1, 4, 10)


def bleu_by_iterations(
    model: Model,
    corpus: BinarizedCorpus,
    split: str,
    settings: DecodingSettings,
    *,
    text: Path,
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
) -> Iterator[Row]:
    """Translate with 1, 4 and 10 iterations: sacrebleu, `bleu_of_iterations`, by their number.

    `hypotheses`, raw text like the references, are the translations with as many as the settings have; `text` is the
    run's folder for `TextChain`. An autoregressive model has none.
    """
    if not isinstance(model, MaskedLanguageModel):
        return
    chain = TextChain(text)
    source, device = corpus.side(split, corpus.source), next(model.parameters()).device
    for number in sorted({*ITERATIONS, settings.iterations}):
        raw = hypotheses
        if number != settings.iterations:
            translations = translate_ids(model, source, replace(settings, iterations=number), device=device)
            units = (corpus.target_vocabulary.text(found[0].tokens) for found in translations)
            raw = list(chain.target_text(chain.target_tokens(units)))
        score = bleu_metric("sacrebleu").corpus_score(raw, references).score
        yield row(split, "bleu_of_iterations", round(float(score), 4), tag=str(number))
