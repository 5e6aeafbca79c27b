"""Translations of external systems, which come as files."""

from pathlib import Path

from context_nmt.corpus.hypotheses import write_external_hypotheses
from context_nmt.files import UserError, iterate_lines, read_lines
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.settings.run_layout import run_name


def import_translations(experiment: EvaluationFolder, system: str, seed: int) -> None:
    """Write external/SYSTEM/TEST.txt, one file per test set, as the translations of a run.

    Raise UserError for a file that is missing, not UTF-8 or without any text, and for another number of lines than the
    test set has.
    """
    corpus, folder = experiment.settings.corpus, experiment.external(system)
    texts = {
        test: _read_text(folder / f"{test}.txt", experiment.corpus / f"{test}.{corpus.source}") for test in corpus.tests
    }
    write_external_hypotheses(experiment.hypotheses(run_name(system, seed)), texts)


def _read_text(path: Path, source: Path) -> list[str]:
    lines = [line.removesuffix("\r") for line in read_lines(path)]  # of Windows
    expected = sum(1 for _ in iterate_lines(source))
    if len(lines) != expected:
        raise UserError(f"{path} has {len(lines)} lines, but {source} has {expected}; it needs one for each sentence")
    if not any(line.strip() for line in lines):
        raise UserError(f"{path}: all lines are empty")
    return lines
