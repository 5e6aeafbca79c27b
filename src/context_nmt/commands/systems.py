"""Translate with trained systems, score and compare translations, and show what the systems look at."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from context_nmt.files import UserError

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run: runs/models/VARIANT-SEED.")]
Runs = Annotated[list[str], typer.Argument(metavar="VARIANT-SEED", help="The runs to compare, such as cmlm-1.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …; auto uses a GPU if there is one.")]
References = Annotated[list[Path], typer.Option(help="A reference; can be repeated.")]
JsonFile = Annotated[Path, typer.Option(help="The JSON file to write.")]
Tokenized = Annotated[bool, typer.Option("--tokenized", help="The files are tokenized already; score their tokens.")]
Language = Annotated[str, typer.Option(help="Target language; it determines the tokenizers.")]
Tokenizer = Annotated[str | None, typer.Option(help="A tokenizer of sacrebleu to use instead of the language's.")]


def translate(
    folder: RunFolder,
    beam: Annotated[
        int | None,
        typer.Option(help="Hypotheses per sentence; for a masked model, lengths to try. Default: the run's setting."),
    ] = None,
    n_best: Annotated[
        int | None,
        typer.Option(
            "--nbest",
            metavar="N",
            help="Write the N best hypotheses of each line, or all if there are fewer, as `INDEX ||| hypothesis |||"
            " score`. Indices count from 0; the score is the log-probability divided by the length penalty. N is at"
            " most the beam; a masked model is refused.",
        ),
    ] = None,
    device: Device = "auto",
) -> None:
    """Translate plain text with a trained model.

    Text is normalized, tokenized, truecased and split into units as in training, and translations are turned back into
    plain text. For a document model, empty lines separate documents. To translate elsewhere, copy the run's folder and
    put the search settings into it: decoding.json of the variant's plan.

        Reads    standard input          UTF-8 text, one sentence per line
                 RUN/model.safetensors   weights
                 RUN/decoding.json       search settings; without this file, metrics/plans/VARIANT/decoding.json
                 RUN/text/               truecasers, BPE codes or sentencepiece models, vocabularies
        Writes   standard output         translations; an empty line stays empty, and a line that is too long for
                                         the model becomes empty and is reported as an error at the end
        Example  context-nmt translate runs/models/transformer-1 < text.en > text.de
    """
    from context_nmt.decoding.translating_text import translate_text

    if sys.stdin is None:
        raise UserError("standard input is closed; pass the text with < FILE")
    translate_text(folder, sys.stdin.buffer, sys.stdout.buffer, beam=beam, device=device, n_best=n_best)


def score(
    hypothesis: Annotated[Path, typer.Option(help="The system's output, one sentence per line.")],
    reference: References,
    output: JsonFile,
    source: Annotated[Path | None, typer.Option(help="The source; only its number of lines is checked.")] = None,
    tokenized: Tokenized = False,
    language: Language = "en",
    tokenizer: Tokenizer = None,
    reference_alignment: Annotated[
        Path | None,
        typer.Option(help="Source-reference links such as 0-0 1-2, one sentence per line; needs --tokenized."),
    ] = None,
    hypothesis_alignment: Annotated[
        Path | None, typer.Option(help="Source-hypothesis links, in the same format.")
    ] = None,
    pronouns: Annotated[
        Path | None,
        typer.Option(help="Your list of pronouns, one per line; similar words share a line and count half."),
    ] = None,
    nouns: Annotated[
        Path | None, typer.Option(help="Your list of nouns, in the same format, instead of NLTK's tagger.")
    ] = None,
) -> None:
    """Score a translation against references.

    Raw text is scored with `sacrebleu`, `chrf`, `chrf_plus_plus` (chrF++) and `ter` (lower is better), and its Moses
    tokens with `bleu_tokenized` (like multi-bleu.perl), `bleu_compound_split` (like tensor2tensor's get_ende_bleu) and
    `bleu_lowercased`. --language chooses sacrebleu's tokenizer: zh, ja-mecab, ko-mecab, char for other languages
    without spaces, and 13a for all others. With --tokenized, only the last three scores are computed, from the tokens
    of the files.

    With both alignments, `apt_pronouns` is the share, from 0 to 1, of the reference's pronouns that the translation
    reproduces at the position aligned with them through the source; `apt_nouns` is the same for nouns. The links can
    come from any aligner; with several references they are for the first. The list of pronouns is English or German, by
    --language, or your own. Nouns are found by NLTK's English tagger if its data is installed.

        Reads    the files named by the options
        Writes   standard output    the scores
                 --output           {METRIC: {"score": float, "signature": str}}; the signature
                                    describes the computation; apt_* also have "counts"
        Example  context-nmt score --hypothesis output.de --reference test.de --language de --output scores.json
    """
    from context_nmt.measures.file_scores import format_scores, score_files

    scores = score_files(
        hypothesis,
        reference,
        source=source,
        tokenized=tokenized,
        language=language,
        tokenizer=tokenizer,
        output=output,
        reference_alignment=reference_alignment,
        hypothesis_alignment=hypothesis_alignment,
        pronouns=pronouns,
        nouns=nouns,
    )
    typer.echo(format_scores(scores))


def compare(
    system: Annotated[Path, typer.Option(help="The system's output, one sentence per line.")],
    baseline: Annotated[Path, typer.Option(help="The baseline's output.")],
    reference: References,
    output: JsonFile,
    tokenized: Tokenized = False,
    language: Language = "en",
    tokenizer: Tokenizer = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="sacrebleu, chrf, chrf_plus_plus or ter (raw text); bleu_tokenized, bleu_compound_split or"
            " bleu_lowercased (--tokenized)."
        ),
    ] = None,
    resamples: Annotated[int, typer.Option(help="Number of resamples of the test set.")] = 1000,
    sample_ratio: Annotated[
        float, typer.Option(help="Size of a resample relative to the test set; compare-mt's default is 0.5.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(help="Seed of resamples and trials.")] = 12345,
) -> None:
    """Test whether two translations differ.

    The tests are the same as in the significance stage: paired bootstrap by compare-mt (Koehn 2004) and by sacrebleu,
    the sign test of Collins et al. (2005), and approximate randomization (Riezler and Maxwell 2005). Their p-values
    mean different things, as context_nmt/results/significance.py explains.

        Reads    the files named by the options
        Writes   standard output    the difference and the p-values
                 --output           {"difference", "bootstrap": {"p", …}, "sacrebleu": {"p", …},
                                    "sign": {"p", …}, "randomization": {"p", …}, "signature", …}
        Example  context-nmt compare --system new.de --baseline old.de --reference test.de --language de --output x.json
    """
    from context_nmt.results.file_comparison import compare_files, file_settings, format_comparison

    settings = file_settings(
        tokenized=tokenized, metric=metric, resamples=resamples, sample_ratio=sample_ratio, seed=seed
    )
    comparison = compare_files(system, baseline, reference, settings, output, language=language, tokenizer=tokenizer)
    typer.echo(format_comparison(comparison))


def show(
    runs: Runs,
    output: Annotated[Path, typer.Option(help="The page to write, FILE.html, or FILE.svg for a picture of one word.")],
    test: Annotated[str, typer.Option(help="A test set or a contrastive set.")] = "test",
    document: Annotated[
        int | None, typer.Option(help="The number of a document or of a contrastive item, from 1. Default: 1.")
    ] = None,
    sentence: Annotated[
        int | None,
        typer.Option(help="The number of a sentence, from 1. Previous sentences are shown if a system reads them."),
    ] = None,
    word: Annotated[
        str | None,
        typer.Option(
            help="The word to select, in upper or lower case. Without --document and --sentence, the first sentence"
            " with it in the reference, or else in the source, is shown."
        ),
    ] = None,
    sentences: Annotated[
        int,
        typer.Option(
            min=1,
            help="Maximum number: the first of a document, or the last ones up to --sentence. Longer contrastive items"
            " are refused.",
        ),
    ] = 50,
    device: Device = "auto",
) -> None:
    """Show what systems looked at when they translated.

    This translates a document or a sentence and writes a page: for each word and system, the attention of every layer
    and head, gates, windows, the earlier sentences and words that the system used, and the iterations of a masked
    model. The page shows what the mechanisms declare in `shows`. For a contrastive item, it has each system's score for
    each candidate. A picture shows one word of the last sentence, by default its first pronoun, for one system with
    hierarchical attention. Run the command in the experiment's folder.

        Reads    params.yaml                            the systems' labels
                 metrics/plans/VARIANT/decoding.json    search settings
                 runs/models/VARIANT-SEED/              the trained models
                 runs/binarized/                        the text
                 runs/tokenized/SET.items.json          the items of a contrastive set
        Writes   --output                               one HTML or SVG file that needs no other file
        Example  context-nmt show transformer-1 han_encoder-1 --document 22 --output page.html
    """
    from context_nmt.explorer.passages import PassageQuery, show_runs
    from context_nmt.settings.parameters import Experiment

    query = PassageQuery(test=test, document=document, sentence=sentence, word=word, limit=sentences)
    show_runs(Experiment(), runs, query, output=output, device=device)


def serve(
    runs: Runs,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port of the page; 0 picks a free one.")] = 8000,
    device: Device = "auto",
) -> None:
    """Serve a page to translate text and see what systems look at.

    This is the page of `context-nmt show` with a text field: type one sentence per line, and empty lines between
    documents. Only this machine can open it, and it contacts no other machine. The server translates one text at a
    time; other users wait. Run the command in the experiment's folder; Ctrl-C ends it.

        Reads    params.yaml                            the systems' labels
                 metrics/plans/VARIANT/decoding.json    search settings
                 runs/models/VARIANT-SEED/              the trained models, with their text processing
        Writes   standard error                         the address of the page
        Example  context-nmt serve transformer-1 han_encoder-1
    """
    from context_nmt.explorer.server import serve_runs
    from context_nmt.settings.parameters import Experiment

    serve_runs(Experiment(), runs, port=port, device=device)


def export(
    run: RunFolder,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to write, which must not exist.")],
) -> None:
    """Export a plain Transformer to CTranslate2.

    The exported model has the same weights, in float32; its input and output are units, as in runs/subwords.
    CTranslate2 can then quantize it or run it on a GPU. Masked models, and models with a mechanism other than plain
    attention, are refused. This needs the package ctranslate2.

        Reads    RUN/model.safetensors    weights
                 RUN/text/                truecasers, BPE codes or sentencepiece models, vocabularies
        Writes   FOLDER/                  a model that ctranslate2.Translator loads
                 FOLDER/text/             a copy of RUN/text
        Example  context-nmt export runs/models/transformer-1 exported
    """
    from context_nmt.models.exporting import export as export_run

    export_run(run, folder)
