"""Scores a translation against its references."""

from pathlib import Path
from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.evaluation.file_scores import format_scores, score_files
from context_nmt.evaluation.file_words import word_files


def main(
    hypothesis: Annotated[Path, typer.Option(help="The system's output, one sentence per line.")],
    reference: Annotated[list[Path], typer.Option(help="A reference; give the option again for further ones.")],
    output: Annotated[Path, typer.Option(help="The JSON file to write.")],
    source: Annotated[Path | None, typer.Option(help="The source; it is checked, and not scored.")] = None,
    tokenized: Annotated[
        bool, typer.Option("--tokenized", help="The files hold tokens: score them as they are.")
    ] = False,
    language: Annotated[str, typer.Option(help="Target language, for the Moses tokenizer and pronouns.")] = "en",
    reference_alignment: Annotated[
        Path | None, typer.Option(help="Links source-reference, as 0-0 1-2, a sentence a line; needs --tokenized.")
    ] = None,
    hypothesis_alignment: Annotated[Path | None, typer.Option(help="Links source-hypothesis, the same way.")] = None,
    pronouns: Annotated[
        Path | None, typer.Option(help="The pronouns, one a line; several on a line count half for each other.")
    ] = None,
    nouns: Annotated[
        Path | None, typer.Option(help="The nouns, in the same way, in place of those that NLTK's tagger finds.")
    ] = None,
) -> None:
    """Score a translation; every score comes with the signature that says how it was computed.

    Raw text gives `sacrebleu` (13a) and `chrf` of the text itself, and of its Moses tokens `bleu_tokenized` (as
    multi-bleu.perl), `bleu_compound_split` (as tensor2tensor's get_ende_bleu) and `bleu_lowercased`.
    With --tokenized the last three are computed on the files' own tokens; `sacrebleu` and `chrf` are then left out,
    because they are defined on raw text.

    With both alignments, `apt_pronouns` is the share, from 0 to 1, of the reference's pronouns that the translation has
    at the word that they are linked to through the source, and `apt_nouns` that of its nouns. Any aligner's links will
    do; with several references they are those of the first. The list of pronouns is English or German by --language, or
    one of your own; nouns are those of NLTK's English tagger where its data is installed. Writes

        FILE.json    {METRIC: {"score": float, "signature": str}}; the last two have "counts", too

    Example: python -m stages.score --hypothesis output.de --reference test.de --language de --output scores.json
    """
    words = word_files(reference_alignment, hypothesis_alignment, pronouns, nouns)
    scores = score_files(
        hypothesis, reference, source=source, tokenized=tokenized, language=language, output=output, words=words
    )
    typer.echo(format_scores(scores))


if __name__ == "__main__":
    run(main)
