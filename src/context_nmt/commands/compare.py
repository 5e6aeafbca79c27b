"""Compare two translations."""

from pathlib import Path
from typing import Annotated

import typer


def compare(
    system: Annotated[Path, typer.Option(help="The system's output, one sentence per line.")],
    baseline: Annotated[Path, typer.Option(help="The baseline's output.")],
    reference: Annotated[list[Path], typer.Option(help="A reference; repeat the option for more.")],
    output: Annotated[Path, typer.Option(help="The JSON file to write.")],
    tokenized: Annotated[
        bool, typer.Option("--tokenized", help="The files are tokenized: compare them as they are.")
    ] = False,
    language: Annotated[str, typer.Option(help="Target language, for sacrebleu's tokenizer.")] = "en",
    tokenizer: Annotated[str | None, typer.Option(help="Another tokenizer of sacrebleu than the language's.")] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="sacrebleu (raw text); bleu_tokenized, bleu_compound_split or bleu_lowercased (--tokenized)."
        ),
    ] = None,
    resamples: Annotated[int, typer.Option(help="Number of resamples of the test set.")] = 1000,
    sample_ratio: Annotated[
        float, typer.Option(help="Size of a resample relative to the test set; compare-mt's default is 0.5.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(help="Seed of the resamples.")] = 12345,
) -> None:
    """Test whether two translations differ.

    The tests are those of the significance stage: paired bootstrap by compare-mt (Koehn 2004) and by sacrebleu, and the
    sign test of Collins et al. (2005). Their p-values mean different things, see
    context_nmt/results/significance.py.

    Reads

        the files named by the options

    Writes

        standard output    the difference and the p-values
        --output           {"difference", "bootstrap": {"p", …}, "sacrebleu": {"p", …},
                           "sign": {"p", …}, "signature", …}

    For example

        context-nmt compare --system new.de --baseline old.de \\
            --reference test.de --language de --output comparison.json
    """
    from context_nmt.results.file_comparison import compare_files, file_settings, format_comparison

    settings = file_settings(
        tokenized=tokenized, metric=metric, resamples=resamples, sample_ratio=sample_ratio, seed=seed
    )
    found = compare_files(system, baseline, reference, settings, output, language=language, tokenizer=tokenizer)
    typer.echo(format_comparison(found))
