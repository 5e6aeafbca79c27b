"""BLEU of the validation set while a model trains."""

from collections.abc import Iterable

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.decoding.translating import translate_ids
from context_nmt.models.model import Model
from context_nmt.settings.decoding import DecodingSettings


def validation_bleu(model: Model, corpus: BinarizedCorpus) -> float:
    """Return BLEU of the validation set on words as units make them up (with BPE, truecased tokens).

    The search is greedy, or takes the most probable length; the variant's search settings are not used. Unknown words
    stay `<unk>`. The score steers training and is no result; the significance stage computes results, with their
    signatures.
    """
    import sacrebleu  # training needs it for nothing else

    source, target = corpus.parallel(corpus.validation)
    device = next(model.parameters()).device
    settings, documents = DecodingSettings(beam=1, length_beam=1), corpus.documents(corpus.validation)
    hypotheses = translate_ids(model, source, settings, documents=documents, device=device)
    best = [_words(corpus, n_best[0].tokens) for n_best in hypotheses]
    references = [_words(corpus, target[index].tolist()) for index in range(len(target))]
    return float(sacrebleu.corpus_bleu(best, [references], tokenize="none", force=True).score)


def _words(corpus: BinarizedCorpus, ids: Iterable[int]) -> str:
    vocabulary = corpus.target_vocabulary
    return " ".join(vocabulary.words([vocabulary.units[number] for number in ids]))
