"""Scores a translation against its references."""

from pathlib import Path
from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.evaluation.file_scores import format_scores, score_files


def main(
    hypothesis: Annotated[Path, typer.Option(help="The system's output, one sentence per line.")],
    reference: Annotated[list[Path], typer.Option(help="A reference; give the option again for further ones.")],
    output: Annotated[Path, typer.Option(help="The JSON file to write.")],
    source: Annotated[Path | None, typer.Option(help="The source; only its number of lines is checked.")] = None,
    tokenized: Annotated[
        bool, typer.Option("--tokenized", help="The files hold tokens: score them as they are.")
    ] = False,
    language: Annotated[str, typer.Option(help="Target language, for the Moses tokenizer (raw text only).")] = "en",
) -> None:
    """Score a translation; every score comes with the signature that says how it was computed.

    Raw text gives `sacrebleu` (13a) and `chrf` of the text itself, and of its Moses tokens `bleu_tokenized` (as
    multi-bleu.perl), `bleu_compound_split` (as tensor2tensor's get_ende_bleu) and `bleu_lowercased`.
    With --tokenized the last three are computed on the files' own tokens; `sacrebleu` and `chrf` are then left out,
    because they are defined on raw text. Writes

        FILE.json    {METRIC: {"score": float, "signature": str}}

    Example: python -m stages.score --hypothesis output.de --reference test.de --language de --output scores.json
    """
    scores = score_files(hypothesis, reference, source=source, tokenized=tokenized, language=language, output=output)
    typer.echo(format_scores(scores))


if __name__ == "__main__":
    run(main)
