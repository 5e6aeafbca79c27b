"""Describe the variants of an experiment."""

from pathlib import Path
from typing import Annotated

import typer

from context_nmt.files import UserError


def describe(
    parameters: Annotated[Path, typer.Argument(metavar="PARAMETERS", help="The params.yaml with the variants.")] = Path(
        "params.yaml"
    ),
    vocabulary: Annotated[
        int | None,
        typer.Option(min=1, help="Units per side. Default: the vocabularies of the experiment's binarized corpus."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    rates: Annotated[
        bool, typer.Option("--rates", help="Show learning rates; in a project's root, those of all experiments.")
    ] = False,
    hours: Annotated[
        bool, typer.Option("--hours", help="Measure updates of each model, and show how long the trainings take.")
    ] = False,
    jobs: Annotated[
        int, typer.Option(min=1, help="With --hours: trainings at a time, each with its share of the cores.")
    ] = 1,
    gpus: Annotated[int, typer.Option(min=1, help="With --hours and --tokens-per-second: the number of GPUs.")] = 1,
    tokens_per_second: Annotated[
        float | None,
        typer.Option(min=1, help="With --hours: target tokens/s of one GPU, to show hours there."),
    ] = None,
) -> None:
    """Show each variant's size and mechanisms.

    Shows parameters in total and by part, FLOPs per target token (training: forward and backward pass over a sentence
    pair of 25 and 25 units), and the mechanism in each slot of each layer. Nothing is trained.

    With --hours, shows instead how long the trainings take on this machine. A few updates of each model are measured,
    on random sentences with the lengths of the training text, or of about 25 units with --vocabulary. Validation,
    decoding and all other stages are left out. For GPUs, the speed must be given: it is assumed for every model and to
    grow in proportion to the number of GPUs.

    With --rates, shows instead the peak learning rate of each variant and its ratio to that of the baseline. It should
    be 1 where systems are trained alike.

    Reads

        PARAMETERS         recipe and variants
        runs/binarized/    sizes of the vocabularies, unless --vocabulary is given

    Writes

        standard output    tables, or with --json {VARIANT: {"parameters": int,
                           "flops_per_target_token": int,
                           "parameters_by_part": {…}, "slots": {…}}}; with --hours
                           {"variants": {VARIANT: {"hours": float, …}}, "experiment": {…}, …};
                           with --rates {EXPERIMENT: {VARIANT: {"peak": float, …}}}

    For example

        context-nmt describe params.yaml --vocabulary 3000
    """
    if rates and (hours or vocabulary):
        raise UserError("--rates cannot be combined with --hours or --vocabulary")
    if hours:
        from context_nmt.pipeline.estimates import print_hours

        print_hours(parameters, vocabulary, jobs=jobs, gpus=gpus, tokens_per_second=tokens_per_second, as_json=as_json)
        return
    if (jobs, gpus, tokens_per_second) != (1, 1, None):
        raise UserError("--jobs, --gpus and --tokens-per-second need --hours")
    if rates:
        from context_nmt.pipeline.estimates import print_rates

        print_rates(parameters, as_json=as_json)
        return
    from context_nmt.pipeline.descriptions import print_descriptions

    print_descriptions(parameters, vocabulary, as_json=as_json)
