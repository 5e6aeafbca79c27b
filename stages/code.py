"""Record the code that each stage runs."""

from pathlib import Path

from context_nmt.code_closure import write_code_files


def main() -> None:
    """Record the project code that each stage can run, with digests that ignore comments and layout.

    Run in the folder src. A stage depends only on its own file, so a change reruns only the stages that it can affect.
    Writes

        src/code/STAGE.json            {FILE: DIGEST}: the files that the stage can import, and its packages' data
        src/code/loaded_by_name.json   {MODULE: DIGEST} of modules chosen by plans: mechanisms, formats, validation BLEU

    Example: dvc repro src/dvc.yaml
    """
    write_code_files(Path(__file__).parents[1])
