"""All tables, figures and claims of the five papers, listed from the papers and not from src/context_nmt/report/papers.

A row is a variant, or the label of a system that is only cited. A column is a text and a measure. A claim is what it
compares, in what, and where: `>` is more, `<` less, `=` as much, `>=` not less. It goes on where the next line is
indented more.
"""

LAYERS = range(1, 7)
TASKS = (
    *("sentence_length", "word_content", "tree_depth", "top_constituents", "bigram_shift", "past_present"),
    *("subj_number", "obj_number", "odd_man_out", "coordination_inversion"),
)
STACKS = ("encoder", "decoder")
UNIVERSAL = ("ADJ", "ADP", "ADV", "CONJ", "DET", "NOUN", "NUM", "PRON", "PRT", "SYM", "VERB", "X")
WORD_CLASSES = ("NOUN", "VERB", "ADJ/ADV", "OTHER")


def of(languages, test_set, *metrics, layers=(None,), tags=("",), difference=False):
    """Columns for all combinations of metrics, layers and tags; `difference` is from a baseline, as published."""
    return {
        (languages, test_set, metric, layer, str(tag), difference)
        for metric in metrics
        for layer in layers
        for tag in tags
    }


def joined(*columns):
    return set().union(*columns)


DC = ("transformer", "dual_context_encoder", "dual_context_decoder", "dual_context_both")
KERNELS = ("dual_context_encoder", *(f"dual_context_kernel_{size}" for size in range(3, 9)))
LS = ("transformer", "lexical_shortcuts", "lexical_shortcuts_fusion")
PROBED = ("transformer", "lexical_shortcuts_fusion")
HAN = ("transformer", "cache_memory", "han_encoder", "han_decoder", "han_joint")
DOCUMENTS = (
    *(("es-en", "ted_tst2010_2012"), ("zh-en", "ted_tst2010_2013"), ("es-en", "subtitles_test"), ("zh-en", "test")),
    ("es-en", "newstest2009_2013"),
)
LOWERCASED = (("es-en", "ted_tst2010_2012"), ("es-en", "subtitles_test"), ("zh-en", "test"))  # the authors' files are
NEWS = [f"newstest{year}" for year in range(2014, 2019)]


def on_en_de_and_en_ru(*metrics, layers=LAYERS, tags=("",)):
    texts = (("en-de", "newstest2014"), ("en-ru", "newstest2017"))
    return joined(*(of(*text, *metrics, layers=layers, tags=tags) for text in texts))


TABLES = {
    "dual_contextual": {
        "T1": (
            DC,
            of("en-de", "newstest2014", "sacrebleu", difference=True)
            | of("en-de", None, "parameters", difference=True)
            | of("en-de", None, "training_speed"),
        ),
        "T2": (
            DC,
            joined(
                of("en-vi", "tst2013", "sacrebleu", difference=True),
                of("es-en", "tst2014", "bleu_tokenized", difference=True),
                *(of(pair, "tst2013", "sacrebleu") for pair in ("en-vi", "vi-en")),
                *(of(pair, "tst2014", "bleu_tokenized") for pair in ("es-en", "en-es", "ro-en", "en-ro")),
                *(of(pair, "tst2014_2015", "bleu_tokenized") for pair in ("fr-en", "en-fr")),
            ),
        ),
        "T3": (
            (
                *("Luong and Manning (2015)", "Huang et al. (2018)", "He et al. (2018)", "Xia et al. (2019)"),
                "Cettolo et al. (2014)",
            ),
            of("en-vi", "tst2013", "sacrebleu") | of("es-en", "tst2014", "bleu_tokenized"),
        ),
        "T4": (
            ("transformer", "dual_context_encoder"),
            of("en-de", "senteval", "probe", tags=(*TASKS, "surface", "syntactic", "semantic")),
        ),
        "F3": (("transformer", *KERNELS), of("en-de", "newstest2014", "sacrebleu", difference=True)),
        "F4": (
            KERNELS,
            of("en-de", "newstest2014", "divergence_encoder", layers=(None, *LAYERS)),
        ),
        "T5": (
            (
                "transformer",
                *(f"dual_context_layers_{layers}" for layers in ("1", "1_2", "1_3", "1_4", "1_5", "4_6", "5_6", "6")),
                "dual_context_encoder",
            ),
            of("en-de", "newstest2014", "sacrebleu") | of("en-de", "newstest2014", "sacrebleu", difference=True),
        ),
        "F5": (DC, of("en-de", "newstest2014", "bleu_of_units", tags=(0, 10, 20, 30, 40, 50))),
    },
    "lexical_shortcuts": {
        "T1": (
            (*LS, "transformer_big", "lexical_shortcuts_fusion_big"),
            of("en-de", "newstest2014", "bleu_compound_split")
            | joined(*(of("en-de", test_set, "sacrebleu") for test_set in (*NEWS, "newstest_mean"))),
        ),
        "T2": (
            LS,
            joined(
                *(of("de-en", test_set, "sacrebleu") for test_set in ("newstest2014", "newstest2017")),
                *(of("en-ru", test_set, "sacrebleu") for test_set in ("newstest2017", "newstest2018")),
                *(of(f"en-{to}", f"newstest{year}", "sacrebleu") for to in ("cs", "fi") for year in (2015, 2018)),
            ),
        ),
        "T3": (
            tuple(f"{name}_small" for name in LS),
            joined(*(of("en-de", name, "sacrebleu") for name in ("newstest2017", "newstest2018", "newstest_mean"))),
        ),
        "T4": (
            (
                "transformer",
                "lexical_shortcuts_fusion",
                *(f"lexical_shortcuts_{at}" for at in ("cross", "all", "non_lexical")),
            ),
            joined(*(of("en-de", name, "sacrebleu") for name in ("newstest2017", "newstest2018", "newstest_mean"))),
        ),
        "T5": (
            (*LS, "transformer_big", "lexical_shortcuts_fusion_big"),
            of("en-de", None, "parameters", "training_speed"),
        ),
        "F3": (PROBED, on_en_de_and_en_ru("lexical_encoder", "lexical_decoder", layers=range(7))),  # 0: the embeddings
        "F4": (PROBED, on_en_de_and_en_ru("lexical_encoder", "lexical_decoder", layers=range(7))),
        "F5": (
            ("transformer", *(f"lexical_shortcuts_{at}" for at in ("fusion", "encoder", "decoder"))),
            of("en-de", "newstest2013", "sacrebleu"),
        ),
        "WSD": (PROBED, of("de-en", "contrawsd", "accuracy_normalized", tags=["all"])),
        **dict.fromkeys(
            ("F6", "F7"),  # embeddings are like themselves
            (PROBED, on_en_de_and_en_ru(*(f"cosine_{stack}_sentences" for stack in STACKS))),
        ),
        "F8-15": (
            PROBED,
            on_en_de_and_en_ru(*(f"lexical_{stack}_by_frequency" for stack in STACKS), tags=range(1, 11)),
        ),
        "F16-23": (
            PROBED,
            on_en_de_and_en_ru(*(f"lexical_{stack}_by_word_class" for stack in STACKS), tags=WORD_CLASSES),
        ),
        "gates": (
            LS[1:],
            of(
                "en-de",
                "newstest2014",
                *(f"gate_{stack}_{side}" for stack in STACKS for side in ("key", "value")),
                layers=LAYERS,
            ),
        ),
    },
    "context_aware_cross_attention": {
        "T1": (
            ("transformer_big", "cmlm", "ccan"),
            of("zh-en", "newstest2017", *(f"attention_to_word_{rank}" for rank in (1, 2, 3))),
        ),
        "T2": (
            ("transformer_big", "cmlm", "ccan"),
            of("en-de", "newstest2014", "locality_entropy", "bleu_compound_split")
            | of("zh-en", "newstest2017", "locality_entropy", "bleu_tokenized"),
        ),
        "T3-left": (
            ("cmlm", "ccan", *(f"ccan_window_{size}" for size in (3, 5, 7, 11))),
            of("en-de", "newstest2013", "bleu_compound_split"),
        ),
        "T3-right": (
            ("cmlm", "ccan", *(f"ccan_layers_{layers}" for layers in ("1", "1_3", "6", "4_6"))),
            of("en-de", "newstest2013", "bleu_compound_split"),
        ),
        "T4": (
            (
                *("transformer", "transformer_big", "cmlm", "ccan"),
                *(
                    "NAT (Gu et al. 2018)",
                    "iNAT (Lee et al. 2018)",
                    "DisCo (Kasai et al. 2020)",
                    "LevT (Gu et al. 2019)",
                ),
                "CMLM (Ghazvininejad et al. 2019)",
            ),
            joined(
                of("en-de", None, "iterations"),
                of("ro-en", "newstest2016", "bleu_tokenized"),
                of("en-de", "newstest2014", "bleu_compound_split"),
                of("zh-en", "newstest2017", "bleu_tokenized"),
                of("ja-en", "aspec_test", "bleu_tokenized"),
            ),
        ),
        "F2a": (("ccan",), of("en-de", "newstest2014", "local_share", layers=LAYERS)),
        "F2b": (("cmlm", "ccan"), of("en-de", "newstest2014", "ngram_accuracy", tags=(1, 3, 5, 7, 9), difference=True)),
        "T5": (("cmlm", "ccan"), of("en-de", "senteval", "probe", tags=TASKS)),
    },
    "context_aware_self_attention": {
        "T1": (
            (
                *("transformer", "context_aware_global", "context_aware_deep_global", "context_aware_deep"),
                *("context_aware_encoder", "context_aware_decoder_deep_global", "context_aware_decoder"),
                "context_aware_both",
            ),
            of("en-de", "newstest2014", "bleu_tokenized")
            | of("en-de", None, "parameters", "training_speed", "decoding_speed"),
        ),
        "T2": (
            (
                *("Vaswani et al. (2017) base", "Vaswani et al. (2017) big", "Hassan et al. (2018)"),
                *("transformer", "context_aware_encoder", "transformer_big", "context_aware_big"),
            ),
            joined(
                *(of(pair, None, "parameters", "training_speed") for pair in ("zh-en", "en-de")),
                of("zh-en", "newstest2017", "bleu_tokenized"),
                of("en-de", "newstest2014", "bleu_tokenized"),
            ),
        ),
        "footnote": (
            ("context_aware_encoder", "context_aware_without_gates"),
            of("en-de", "newstest2014", "bleu_tokenized", difference=True),
        ),
        "F2": (
            tuple(f"context_aware_{context}" for context in ("deep", "global", "deep_global", "encoder")),
            of("en-de", "newstest2013", "gate_encoder_query", "gate_encoder_key", layers=LAYERS),
        ),
        "T3": (
            ("transformer", *(f"context_aware_{mixed}" for mixed in ("encoder", "keys", "queries"))),
            of("en-de", "newstest2013", "bleu_tokenized"),
        ),
        "F3": (
            ("context_aware_both",),
            of("en-de", "newstest2013", *(f"gate_{stack}_{side}" for stack in STACKS for side in ("query", "key"))),
        ),
        "F4": (
            ("context_aware_deep_global",),
            of("en-de", "newstest2013", "gate_encoder_query", "gate_encoder_key", tags=UNIVERSAL),
        ),
        "F5": (
            ("transformer", *(f"context_aware_{context}" for context in ("deep", "global", "deep_global", "encoder"))),
            of("en-de", "newstest2013", "bleu_of_words", tags=range(0, 50, 5), difference=True),
        ),
    },
    "hierarchical_attention": {
        "T1": (
            (*HAN, "han_decoder_source", "han_decoder_alignment"),
            joined(*(of(*text, "bleu_lowercased" if text in LOWERCASED else "bleu_tokenized") for text in DOCUMENTS))
            | of("zh-en", "ted_tst2010_2013", "bleu_lowercased"),
        ),
        "T2": (
            ("TED Es-En", "TED Zh-En", "subtitles Es-En", "subtitles Zh-En", "news Es-En"),
            of("any", "train", "sentences_of_text", "documents_of_text")
            | of("any", "train", "words_of_text", tags=("es", "zh", "en")),
        ),
        "T3": (
            ("transformer", "han_joint", *(f"han_joint_{number}" for number in (1, 5, 7))),
            joined(*(of(*text, "bleu_lowercased" if text in LOWERCASED else "bleu_tokenized") for text in DOCUMENTS)),
        ),
        "T4": (
            (*HAN, "Human reference"),
            joined(*(of(*text, "apt_pronouns", "apt_nouns", "cohesion", "coherence") for text in DOCUMENTS)),
        ),
        "T5/F": (("han_joint",), of("es-en", "ted_tst2010_2012", "attention_to_sentence")),
        "speed": (("transformer", "cache_memory", "han_joint"), of("any", None, "training_speed")),
    },
}

CLAIMS = {
    "dual_contextual": """
        dual_context_encoder > transformer, BLEU (Table 1)
        dual_context_decoder > transformer, BLEU (Table 1)
        dual_context_both > transformer, BLEU (Table 1)
        dual_context_encoder > dual_context_decoder, BLEU (Table 1)
        dual_context_both < dual_context_encoder, BLEU (Table 1)
        dual_context_both > dual_context_decoder, BLEU (Table 1)
        dual_context_both < transformer dual_context_encoder dual_context_decoder, training_speed (Table 1)
        dual_context_encoder < transformer, training_speed (Table 1)
        dual_context_decoder < transformer, training_speed (Table 1)
        dual_context_encoder > dual_context_decoder, BLEU (Table 2)
        dual_context_both > dual_context_decoder, BLEU (Table 2: es_en es_en_gain vi_en en_es ro_en en_ro fr_en en_fr)
        dual_context_encoder > transformer, BLEU (Table 2)
        dual_context_decoder > transformer, BLEU (Table 2)
        dual_context_both > transformer, BLEU (Table 2)
        dual_context_both > dual_context_encoder, BLEU (Table 2: vi_en)
        dual_context_both < dual_context_encoder, BLEU (Table 2: en_vi en_vi_gain es_en es_en_gain en_es
            ro_en en_ro fr_en en_fr)
        dual_context_encoder > dual_context_kernel_8, BLEU (sections 6 and 7.2, Figure 3)
        dual_context_kernel_8 > transformer, BLEU (sections 6 and 7.2, Figure 3)
        dual_context_encoder > dual_context_kernel_5 dual_context_kernel_6 dual_context_kernel_7
            dual_context_kernel_8, BLEU (Figure 3)
        dual_context_kernel_3 > dual_context_kernel_5 dual_context_kernel_6 dual_context_kernel_7
            dual_context_kernel_8, BLEU (Figure 3)
        dual_context_kernel_4 > dual_context_kernel_5 dual_context_kernel_6 dual_context_kernel_7
            dual_context_kernel_8, BLEU (Figure 3)
        dual_context_kernel_8 < dual_context_encoder dual_context_kernel_3 dual_context_kernel_4 dual_context_kernel_5
            dual_context_kernel_6 dual_context_kernel_7, BLEU (sections 6 and 7.2, Figure 3)
        dual_context_kernel_3 = dual_context_kernel_4, BLEU (Figure 3)
        dual_context_kernel_5 = dual_context_kernel_6 dual_context_kernel_7, BLEU (Figure 3)
        dual_context_encoder > dual_context_kernel_5 dual_context_kernel_6 dual_context_kernel_7
            dual_context_kernel_8, divergence_encoder (Figure 4b)
        dual_context_kernel_3 > dual_context_kernel_5 dual_context_kernel_6 dual_context_kernel_7
            dual_context_kernel_8, divergence_encoder (Figure 4b)
        dual_context_kernel_4 > dual_context_kernel_5 dual_context_kernel_6 dual_context_kernel_7
            dual_context_kernel_8, divergence_encoder (Figure 4b)
        dual_context_kernel_5 < dual_context_encoder dual_context_kernel_3 dual_context_kernel_4, divergence_encoder in
            layer 2 (Figure 4a)
        dual_context_kernel_6 < dual_context_encoder dual_context_kernel_3 dual_context_kernel_4, divergence_encoder in
            layer 2 (Figure 4a)
        dual_context_kernel_7 < dual_context_encoder dual_context_kernel_3 dual_context_kernel_4, divergence_encoder in
            layer 2 (Figure 4a)
        dual_context_kernel_8 < dual_context_encoder dual_context_kernel_3 dual_context_kernel_4, divergence_encoder in
            layer 2 (Figure 4a)
        dual_context_encoder > itself, divergence_encoder in layer 3 4 5 6 and divergence_encoder in layer 1
            2 (Figure 4a)
        dual_context_kernel_3 > itself, divergence_encoder in layer 3 4 5 6 and divergence_encoder in layer 1
            2 (Figure 4a)
        dual_context_kernel_4 > itself, divergence_encoder in layer 3 4 5 6 and divergence_encoder in layer 1
            2 (Figure 4a)
        dual_context_kernel_5 > itself, divergence_encoder in layer 3 4 5 6 and divergence_encoder in layer 1
            2 (Figure 4a)
        dual_context_kernel_6 > itself, divergence_encoder in layer 3 4 5 6 and divergence_encoder in layer 1
            2 (Figure 4a)
        dual_context_kernel_7 > itself, divergence_encoder in layer 3 4 5 6 and divergence_encoder in layer 1
            2 (Figure 4a)
        dual_context_kernel_8 > itself, divergence_encoder in layer 3 4 5 6 and divergence_encoder in layer 1
            2 (Figure 4a)
        dual_context_encoder < dual_context_kernel_5 dual_context_kernel_6 dual_context_kernel_7
            dual_context_kernel_8, divergence_encoder in layer 4 5 6 (Figure 4a)
        dual_context_kernel_3 < dual_context_kernel_5 dual_context_kernel_6 dual_context_kernel_7
            dual_context_kernel_8, divergence_encoder in layer 4 5 6 (Figure 4a)
        dual_context_kernel_4 < dual_context_kernel_5 dual_context_kernel_6 dual_context_kernel_7
            dual_context_kernel_8, divergence_encoder in layer 4 5 6 (Figure 4a)
        dual_context_encoder > dual_context_layers_1, BLEU (Table 5)
        dual_context_encoder > dual_context_layers_1 dual_context_layers_1_2 dual_context_layers_1_3
            dual_context_layers_1_4 dual_context_layers_1_5 dual_context_layers_4_6 dual_context_layers_5_6
            dual_context_layers_6, BLEU (Table 5)
        dual_context_layers_1_2 > dual_context_layers_5_6, BLEU (section 7.3, Table 5)
        dual_context_layers_5_6 < dual_context_layers_1 dual_context_layers_1_2 dual_context_layers_1_3
            dual_context_layers_1_4 dual_context_layers_1_5 dual_context_layers_4_6 dual_context_layers_6
            dual_context_encoder, BLEU (section 7.3, Table 5)
        dual_context_layers_4_6 < dual_context_layers_1 dual_context_layers_1_2 dual_context_layers_1_3
            dual_context_layers_1_4 dual_context_layers_1_5, BLEU (section 7.3, Table 5)
        dual_context_layers_6 < dual_context_layers_1 dual_context_layers_1_2 dual_context_layers_1_3
            dual_context_layers_1_4 dual_context_layers_1_5, BLEU (section 7.3, Table 5)
        transformer < dual_context_layers_1 dual_context_layers_1_2 dual_context_layers_1_3
            dual_context_layers_1_4 dual_context_layers_1_5 dual_context_layers_4_6 dual_context_layers_5_6
            dual_context_layers_6 dual_context_encoder, BLEU (Table 5)
        dual_context_layers_5_6 > transformer, BLEU (Table 5)
        dual_context_layers_1 > dual_context_layers_1_2 dual_context_layers_1_3 dual_context_layers_1_5
            dual_context_layers_4_6 dual_context_layers_5_6 dual_context_layers_6, BLEU (Table 5)
        dual_context_layers_1_4 > dual_context_layers_1_2 dual_context_layers_1_3 dual_context_layers_1_5
            dual_context_layers_4_6 dual_context_layers_5_6 dual_context_layers_6, BLEU (Table 5)
        dual_context_encoder > its baseline, probe of surface (section 7.1.1, Table 4)
        dual_context_encoder > its baseline, probe of syntactic (Table 4)
        dual_context_encoder = its baseline, probe of semantic (Table 4)
        dual_context_encoder > its baseline, bleu_of_units of 10 20 30 40 50 (Figure 5)
        dual_context_decoder > its baseline, bleu_of_units of 10 20 30 40 50 (Figure 5)
        dual_context_both > its baseline, bleu_of_units of 10 20 30 40 50 (Figure 5)
        transformer >= dual_context_encoder, bleu_of_units of 0 (Figure 5)
    """,
    "lexical_shortcuts": """
        lexical_shortcuts > transformer, BLEU (Table 1)
        lexical_shortcuts_fusion > transformer, BLEU (Table 1)
        lexical_shortcuts_fusion > lexical_shortcuts, BLEU (Table 1)
        lexical_shortcuts_fusion = transformer_big, BLEU (Table 1)
        gain of lexical_shortcuts_fusion_big < lexical_shortcuts_fusion, BLEU (section 3.3, Table 1)
        lexical_shortcuts_fusion_big > transformer_big, BLEU (Table 1)
        lexical_shortcuts_fusion > transformer, BLEU (Table 2)
        lexical_shortcuts > transformer, BLEU (Table 2)
        lexical_shortcuts_fusion_small > transformer_small, BLEU (Table 3)
        gain of lexical_shortcuts_fusion_small = lexical_shortcuts_fusion, BLEU (Tables 1 and 3)
        lexical_shortcuts_fusion > lexical_shortcuts_non_lexical, BLEU (Table 4)
        lexical_shortcuts_fusion > lexical_shortcuts_cross, BLEU (Table 4)
        lexical_shortcuts_all < lexical_shortcuts_fusion, BLEU (Table 4)
        lexical_shortcuts_cross > transformer, BLEU (Table 4)
        lexical_shortcuts_non_lexical > transformer, BLEU (Table 4)
        lexical_shortcuts_fusion > lexical_shortcuts_encoder lexical_shortcuts_decoder, BLEU (Figure 5)
        lexical_shortcuts_fusion < its baseline, lexical_encoder in layer 1 2 3 4 5 6 (abstract, Figures 3 and 4)
        lexical_shortcuts_fusion < its baseline, lexical_decoder in layer 1 2 3 4 5 6 (abstract, Figures 3 and 4)
        transformer < itself, lexical_decoder in layer 1 2 3 4 5 6 and lexical_encoder in layer 1 2 3 4 5 6 (Figures 3
            and 4)
        transformer < itself, lexical_encoder_by_frequency lexical_decoder_by_frequency in layer 1 2 3 4 5 6 of 1
            and each of 2 3 4 5 6 7 8 9 10 (appendix, Figures 8 to 15)
        transformer = itself, lexical_encoder_by_word_class lexical_decoder_by_word_class in layer 1 2 3 4 5 6 of NOUN
            and each of VERB ADJ/ADV OTHER (appendix, Figures 16 to 23)
        lexical_shortcuts_fusion < its baseline, cosine_encoder_sentences in layer 1 2 3 4 5 6 (section 4.1,
            Figures 6 and 7)
        lexical_shortcuts_fusion < its baseline, cosine_decoder_sentences in layer 1 2 3 4 5 6 (section 4.1,
            Figures 6 and 7)
        transformer > itself, cosine_encoder_sentences cosine_decoder_sentences in layer 1 and cosine_encoder_sentences
            cosine_decoder_sentences in layer -1 (section 4.1, Figures 6 and 7)
        lexical_shortcuts_fusion > its baseline, accuracy_normalized of all (ContraWSD)
        lexical_shortcuts_fusion = 0.5, gate_encoder_key gate_encoder_value gate_decoder_key gate_decoder_value
            (appendix)
        lexical_shortcuts_fusion = itself, gate_encoder_key gate_encoder_value gate_decoder_key gate_decoder_value in
            layer 1 and gate_encoder_key gate_encoder_value gate_decoder_key gate_decoder_value in layer -1 (appendix)
        lexical_shortcuts_fusion = itself, gate_encoder_key gate_encoder_value gate_decoder_key gate_decoder_value of
            NOUN and each of VERB ADJ ADV PRON DET ADP CONJ (appendix)
        lexical_shortcuts_fusion >= transformer, training_speed (Table 5)
        lexical_shortcuts_decoder > lexical_shortcuts_fusion, validation_falls (Figure 5)
        lexical_shortcuts_without_gates < lexical_shortcuts, BLEU (text)
    """,
    "context_aware_cross_attention": """
        ccan > cmlm, BLEU (Table 4)
        ccan < its baseline, locality_entropy (Table 2)
        cmlm > transformer_big, locality_entropy (Table 2)
        ccan > transformer, BLEU (Table 4: en_de zh_en ja_en)
        ccan > ccan_window_3 ccan_window_5 ccan_window_7 ccan_window_11, BLEU (Table 3, left)
        ccan > ccan_layers_1, BLEU (Table 3, right)
        ccan > ccan_layers_1 ccan_layers_1_3 ccan_layers_6 ccan_layers_4_6, BLEU (Table 3, right)
        ccan_layers_4_6 > ccan_layers_1_3, BLEU (Table 3, right)
        ccan_layers_6 > ccan_layers_1, BLEU (Table 3, right)
        ccan > itself, local_share in layer 1 and local_share in layer 2 (Figure 2a)
        ccan > itself, local_share in layer 2 and local_share in layer 3 (Figure 2a)
        ccan > itself, local_share in layer 3 and local_share in layer 4 (Figure 2a)
        ccan > itself, local_share in layer 4 and local_share in layer 5 (Figure 2a)
        ccan > itself, local_share in layer 6 and local_share in layer 5 (Figure 2a)
        ccan > its baseline, ngram_accuracy of 1 (Figure 2b)
        ccan > its baseline, ngram_accuracy of 3 (Figure 2b)
        ccan > its baseline, ngram_accuracy of 5 (Figure 2b)
        ccan > its baseline, ngram_accuracy of 7 (Figure 2b)
        ccan > its baseline, probe of tree_depth top_constituents bigram_shift (Table 5)
        ccan > its baseline, probe of past_present subj_number obj_number odd_man_out coordination_inversion (Table 5)
        ccan >= cmlm, decoding_speed (text)
        ccan > its baseline, ngram_accuracy of 9 (Figure 2b)
    """,
    "context_aware_self_attention": """
        context_aware_encoder > transformer, BLEU (Table 1)
        context_aware_global > transformer, BLEU (Table 1)
        context_aware_deep > transformer, BLEU (Table 1)
        context_aware_decoder > transformer, BLEU (Table 1)
        context_aware_deep_global > transformer, BLEU (Table 1)
        context_aware_decoder_deep_global > transformer, BLEU (Table 1)
        context_aware_both > transformer, BLEU (Table 1)
        context_aware_encoder > context_aware_decoder, BLEU (Table 1)
        context_aware_both < context_aware_encoder, BLEU (Table 1)
        context_aware_deep_global > context_aware_global, BLEU (Table 1)
        context_aware_encoder > context_aware_deep_global, BLEU (Table 1)
        context_aware_encoder > context_aware_deep, BLEU (Table 1)
        context_aware_decoder > context_aware_decoder_deep_global, BLEU (Table 1)
        context_aware_global = context_aware_deep, BLEU (Table 1)
        context_aware_encoder >= transformer, training_speed (Table 1)
        context_aware_encoder >= transformer, decoding_speed (Table 1)
        context_aware_encoder > transformer, BLEU (Table 2: zh_en)
        context_aware_big > transformer_big, BLEU (Table 2)
        context_aware_encoder = transformer_big, BLEU (Table 2: en_de)
        context_aware_encoder = transformer_big, BLEU (Table 2: zh_en)
        context_aware_keys > transformer, BLEU (Table 3)
        context_aware_queries > transformer, BLEU (Table 3)
        context_aware_encoder > context_aware_keys, BLEU (Table 3)
        context_aware_keys > context_aware_queries, BLEU (Table 3)
        context_aware_without_gates < its baseline, BLEU (Footnote 1)
        context_aware_global > itself, gate_encoder_query gate_encoder_key in layer 1 and gate_encoder_query
            gate_encoder_key in layer -1 (Figure 2)
        context_aware_global > itself, gate_encoder_key in layer 3 4 and gate_encoder_query in layer 3 4 (Figure 2)
        context_aware_deep_global > itself, gate_encoder_query gate_encoder_key in layer 1 and gate_encoder_query
            gate_encoder_key in layer -1 (Figure 2)
        context_aware_deep_global > itself, gate_encoder_key in layer 3 4 and gate_encoder_query in layer 3 4 (Figure 2)
        context_aware_encoder > itself, gate_encoder_query gate_encoder_key in layer 1 and gate_encoder_query
            gate_encoder_key in layer -1 (Figure 2)
        context_aware_encoder > itself, gate_encoder_key in layer 3 4 and gate_encoder_query in layer 3 4 (Figure 2)
        context_aware_deep = 0.5, gate_encoder_query gate_encoder_key in layer 2 (Figure 2)
        context_aware_deep = 0.5, gate_encoder_query gate_encoder_key in layer 3 (Figure 2)
        context_aware_deep = 0.5, gate_encoder_query gate_encoder_key in layer 4 (Figure 2)
        context_aware_deep = 0.5, gate_encoder_query gate_encoder_key in layer 5 (Figure 2)
        context_aware_deep = 0.5, gate_encoder_query gate_encoder_key in layer 6 (Figure 2)
        context_aware_both < itself, gate_decoder_query gate_decoder_key and gate_encoder_query
            gate_encoder_key (Figure 3)
        context_aware_deep_global > itself, gate_encoder_query gate_encoder_key of SYM DET CONJ PRT PRON ADP
            and gate_encoder_query gate_encoder_key of NOUN VERB ADJ ADV (Figure 4)
        context_aware_global > context_aware_deep, bleu_of_words of 20 25 30 35 40 45 (Figure 5)
        context_aware_deep_global > context_aware_deep, bleu_of_words of 20 25 30 35 40 45 (Figure 5)
        context_aware_deep > context_aware_global context_aware_deep_global, bleu_of_words of 0 5 10 15 (Figure 5)
        context_aware_encoder > transformer, bleu_of_words of 0 5 10 15 20 25 30 35 40 45 (Figure 5)
    """,
    "hierarchical_attention": """
        han_encoder > transformer, BLEU (Table 1)
        han_decoder > transformer, BLEU (Table 1)
        cache_memory > transformer, BLEU (Table 1)
        han_encoder >= cache_memory, BLEU (Table 1)
        han_joint > transformer, BLEU (Table 1)
        han_joint > han_encoder, BLEU (Table 1)
        han_joint > han_decoder, BLEU (Table 1)
        han_joint > cache_memory, BLEU (Table 1)
        han_decoder >= cache_memory, BLEU (Table 1)
        han_decoder_source >= cache_memory, BLEU (Table 1)
        han_decoder_alignment >= cache_memory, BLEU (Table 1)
        han_decoder = han_decoder_source han_decoder_alignment, BLEU (Table 1)
        han_joint > han_joint_1, BLEU (Table 3)
        han_joint > han_joint_1 han_joint_5 han_joint_7, BLEU (Table 3: ted_es_en ted_zh_en news_es_en)
        han_joint = han_joint_5 han_joint_7, BLEU (Table 3: subtitles_zh_en subtitles_es_en)
        han_joint > its baseline, apt_pronouns (Table 4)
        han_joint > transformer cache_memory han_encoder han_decoder, apt_pronouns (Table 4: ted_es_en
            ted_zh_en news_es_en)
        han_encoder > transformer cache_memory han_joint han_decoder, apt_pronouns (Table 4: subtitles_es_en
            subtitles_zh_en)
        han_joint > transformer cache_memory han_encoder han_decoder, apt_nouns (Table 4)
        han_decoder < human, cohesion (Table 4)
        han_decoder > han_encoder, coherence (Table 4)
        han_joint > transformer cache_memory han_encoder han_decoder, coherence (Table 4)
        han_joint >= cache_memory, training_speed (Text)
    """,
}
