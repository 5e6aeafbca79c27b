"""Decoding in several processes: the same bytes as in one, and what happens when something ends early."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from test_translating import CPU, random_sentences, small_model

from context_nmt.decoding.translating import translate_ids
from context_nmt.decoding.workers import side_by_side, usable
from context_nmt.files import UserError
from context_nmt.settings.decoding import DecodingSettings


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_number_of_workers_changes_nothing(precision: str) -> None:
    """Equal to the last bit, log-probabilities included, whatever the number of threads around them."""
    model = small_model().float()
    settings = DecodingSettings(beam=4, n_best=4, batch_tokens=100, maximum_length_offset=8, precision=precision)
    sentences = random_sentences(40)
    one = translate_ids(model, sentences, settings, device=CPU, workers=1)
    assert one == translate_ids(model, sentences, settings, device=CPU, workers=2)
    assert one == translate_ids(model, sentences, settings, device=CPU, workers=3)
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    try:
        assert one == translate_ids(model, sentences, settings, device=CPU, workers=2)
        assert torch.get_num_threads() == before + 1
    finally:
        torch.set_num_threads(before)


def test_work_is_done_in_other_processes_only_where_there_are_several_jobs() -> None:
    assert dict(side_by_side(lambda job: os.getpid(), 1, 8)) == {0: os.getpid()}
    assert dict(side_by_side(lambda job: os.getpid(), 3, 1)) == dict.fromkeys(range(3), os.getpid())
    assert list(side_by_side(lambda job: job, 0, 8)) == []
    answers = dict(side_by_side(lambda job: (job**2, os.getpid(), torch.get_num_threads()), 20, 3))
    assert {job: square for job, (square, _, _) in answers.items()} == {job: job**2 for job in range(20)}
    assert os.getpid() not in {process for _, process, _ in answers.values()}


def test_as_many_workers_as_threads() -> None:
    assert usable(CPU) == torch.get_num_threads()
    assert usable(torch.device("cuda")) == 1


def test_a_free_worker_takes_the_next_job(tmp_path: Path) -> None:
    """The first job lasts until all others are done, which only the other worker can do; the last two may cross."""

    def work(job: int) -> int:
        deadline = time.monotonic() + 30
        while job == 0 and len(list(tmp_path.iterdir())) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        (tmp_path / str(job)).touch()
        return job

    order = [job for job, _ in side_by_side(work, 6, 2)]
    assert order in ([1, 2, 3, 4, 5, 0], [1, 2, 3, 4, 0, 5])


def test_an_error_in_a_worker_is_an_error_here() -> None:
    def work(job: int) -> int:
        if job == 3:
            raise UserError("job 3 is wrong")
        return job

    with pytest.raises(UserError, match=r"^job 3 is wrong$"):
        list(side_by_side(work, 9, 2))


def test_a_worker_that_dies_is_named() -> None:
    def work(job: int) -> int:
        if job == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return job

    with pytest.raises(UserError, match="exit status -9; was memory short"):
        list(side_by_side(work, 4, 2))


def test_a_model_that_diverged_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    model = small_model()
    torch.nn.init.constant_(model.output.weight, torch.nan)
    settings = DecodingSettings(batch_tokens=20)
    with pytest.raises(UserError, match="not a number"):
        translate_ids(model, [np.array([4])] * 9, settings, device=CPU, workers=2)
    assert capfd.readouterr() == ("", "")  # no traceback of a worker


ENDLESS = """
import os, time
from context_nmt.decoding.workers import side_by_side
def work(job):
    os.write(1, b"%d\\n" % os.getpid())  # in one piece: two workers write
    while True:
        time.sleep({pause})
        if {pause} < 1:
            return job
for _ in side_by_side(work, 10**9, 2):
    pass
"""


@pytest.mark.slow
@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize(("ended_by", "pause"), [(signal.SIGINT, 1000), (signal.SIGTERM, 0.01), (signal.SIGKILL, 0.01)])
def test_no_worker_stays_behind(ended_by: signal.Signals, pause: float) -> None:
    """On Ctrl-C they are ended in mid-work; when the parent is killed, they end after the present job."""
    program = textwrap.dedent(ENDLESS.format(pause=pause))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        workers: set[int] = set()
        while len(workers) < 2:
            workers.add(int(parent.stdout.readline()))
        parent.send_signal(ended_by)
        parent.communicate(timeout=60)  # returns when nobody is left who could write
