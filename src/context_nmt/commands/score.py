"""Score a translation."""

from pathlib import Path
from typing import Annotated

import typer


def score(
    hypothesis: Annotated[Path, typer.Option(help="The system's output, one sentence per line.")],
    reference: Annotated[list[Path], typer.Option(help="A reference; repeat the option for more.")],
    output: Annotated[Path, typer.Option(help="The JSON file to write.")],
    source: Annotated[Path | None, typer.Option(help="The source; only its number of lines is checked.")] = None,
    tokenized: Annotated[
        bool, typer.Option("--tokenized", help="The files are tokenized: score them as they are.")
    ] = False,
    language: Annotated[
        str, typer.Option(help="Target language, for the tokenizers of sacrebleu and Moses and for pronouns.")
    ] = "en",
    tokenizer: Annotated[str | None, typer.Option(help="Another tokenizer of sacrebleu than the language's.")] = None,
    reference_alignment: Annotated[
        Path | None,
        typer.Option(help="Source-reference links such as 0-0 1-2, one sentence per line; needs --tokenized."),
    ] = None,
    hypothesis_alignment: Annotated[
        Path | None, typer.Option(help="Source-hypothesis links, in the same format.")
    ] = None,
    pronouns: Annotated[
        Path | None,
        typer.Option(help="Your list of pronouns, one per line; words on the same line count half for each other."),
    ] = None,
    nouns: Annotated[
        Path | None, typer.Option(help="Your list of nouns, in the same format, instead of NLTK's tagger.")
    ] = None,
) -> None:
    """Score a translation against references.

    Raw text gives `sacrebleu`, `chrf`, `chrf_plus_plus` (chrF++) and `ter` (less is better) of the text itself, and of
    its Moses tokens `bleu_tokenized` (as multi-bleu.perl), `bleu_compound_split` (as tensor2tensor's get_ende_bleu) and
    `bleu_lowercased`. The tokenizer of sacrebleu is that of --language: zh, ja-mecab, ko-mecab, char for other
    languages without spaces, and else 13a. With --tokenized the last three are computed on the files' own tokens; the
    others, which are defined on raw text, are left out.

    With both alignments, `apt_pronouns` is the share, from 0 to 1, of the reference's pronouns that the translation
    reproduces at the position aligned with them through the source; `apt_nouns` is the same for nouns. The links may
    come from any aligner; with several references they are for the first. The list of pronouns is English or German,
    by --language, or your own; nouns are found by NLTK's English tagger if its data is installed.

    Reads

        the files named by the options

    Writes

        standard output    the scores
        --output           {METRIC: {"score": float, "signature": str}}; the signature
                           says how the score was computed; apt_* have "counts", too

    For example

        context-nmt score --hypothesis output.de --reference test.de \\
            --language de --output scores.json
    """
    from context_nmt.measures.files import format_scores, score_files

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
