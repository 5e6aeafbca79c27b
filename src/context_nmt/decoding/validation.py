"""BLEU of the validation set during training."""

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.decoding.translating import translate_ids
from context_nmt.models.model import Model
from context_nmt.settings.decoding import DecodingSettings


def validation_bleu(model: Model, corpus: BinarizedCorpus) -> float:
    """Return BLEU of the validation set on the words that units form (with BPE, truecased tokens).

    The search is greedy, or uses the most probable length, regardless of the variant's search settings. Unknown words
    stay `<unk>`. The score only steers training; the significance stage computes scores to report, with signatures.
    """
    import sacrebleu  # training needs it for nothing else

    source, target = corpus.parallel(corpus.validation)
    settings = DecodingSettings(beam=1, length_beam=1, batch_tokens=4096)  # a GPU also holds the training
    documents = corpus.documents(corpus.validation)
    hypotheses = translate_ids(model, source, settings, documents=documents)
    words = corpus.target_vocabulary.words
    best = [" ".join(words(n_best[0].tokens)) for n_best in hypotheses]
    references = [" ".join(words(target[index])) for index in range(len(target))]
    return float(sacrebleu.corpus_bleu(best, [references], tokenize="none", force=True).score)
