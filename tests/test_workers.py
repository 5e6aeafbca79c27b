"""Work in several processes: the same results as in one, and what happens when something ends early."""

import os
import signal
import subprocess
import sys
import time
from multiprocessing import active_children, parent_process

import pytest
import torch
from test_translating import CPU, random_sentences, small_model

from context_nmt.corpus import workers
from context_nmt.corpus.workers import in_parallel
from context_nmt.decoding.in_batches import decode_workers
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import UserError
from context_nmt.models.devices import Processes
from context_nmt.settings.decoding import DecodingSettings


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_number_of_workers_changes_nothing(precision):
    """Translations are equal to the last bit, log-probabilities included, for any number of threads, too."""
    model = small_model().float()
    settings = DecodingSettings(beam=4, n_best=4, batch_tokens=100, maximum_length_offset=8, precision=precision)
    sentences = random_sentences(40)
    one = translate_ids(model, sentences, settings, processes=Processes(workers=1))
    assert one == translate_ids(model, sentences, settings, processes=Processes(workers=2))
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    try:
        assert one == translate_ids(model, sentences, settings, processes=Processes(workers=3))
        assert torch.get_num_threads() == before + 1
    finally:
        torch.set_num_threads(before)


def test_decoding_uses_as_many_workers_as_threads():
    assert decode_workers(CPU) == torch.get_num_threads()
    assert decode_workers(torch.device("cuda")) == 1


def test_results_come_in_order_from_other_processes_if_there_are_several(monkeypatch):
    here = os.getpid()
    results = list(in_parallel(lambda item: (item, os.getpid()), range(50), 3))
    assert [item for item, _ in results] == list(range(50))
    assert here not in {process for _, process in results}
    assert list(in_parallel(lambda item: os.getpid(), range(3), 1)) == [here] * 3
    assert list(in_parallel(lambda item: item, [], 2)) == []
    monkeypatch.setattr(workers, "CAN_FORK", False)
    assert list(in_parallel(lambda item: os.getpid(), range(3), 2)) == [here] * 3


def test_few_chunks_are_handled_in_this_process(monkeypatch):
    monkeypatch.setattr(workers, "CHUNK_LINES", 3)
    for count, chunks in ((50, [3] * 16 + [2]), (9, [3, 3, 3])):
        results = list(workers.map_chunks(lambda chunk: (os.getpid(), chunk), range(count), processes=2))
        assert [item for _, chunk in results for item in chunk] == list(range(count))
        assert [len(chunk) for _, chunk in results] == chunks
        assert (os.getpid() in {process for process, _ in results}) == (count == 9)


def test_a_free_worker_takes_the_next_item(tmp_path):
    """The first item lasts until all others have been yielded, which only the other worker can do."""

    def work(item):
        deadline = time.monotonic() + 30
        while item == 0 and len(list(tmp_path.iterdir())) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        return item

    order = []
    for item in in_parallel(work, range(6), 2, ordered=False):
        (tmp_path / str(item)).touch()
        order.append(item)
    assert sorted(order) == list(range(6))
    assert order[-1] == 0


def refuse(item):
    raise UserError(f"{item} is too many")


def kill(item):
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt_the_parent(item):
    parent = parent_process()
    assert parent is not None
    os.kill(parent.pid or 0, signal.SIGINT)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(
    ("end", "error", "message"),
    [
        (refuse, UserError, "30 is too many"),
        (kill, UserError, "killed, perhaps because memory ran out; use less"),
        (interrupt_the_parent, KeyboardInterrupt, "^$"),
    ],
)
def test_what_ends_one_process_ends_all(end, error, message, ordered, capfd):
    def work(item):
        if item == 30:
            end(item)
        return item

    with pytest.raises(error, match=message):
        list(in_parallel(work, range(10_000), 2, ordered=ordered, advice="; use less"))
    assert active_children() == []
    assert capfd.readouterr() == ("", "")  # no traceback of a worker


class RefusalError(UserError):
    """Pickles, but cannot be unpickled."""

    def __init__(self, name, problem):
        super().__init__(f"{name}: {problem}")


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (MemoryError(), UserError, "memory ran out; use less"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), UserError, "memory ran out; use less"),
        (RuntimeError("CUDA out of memory."), UserError, "memory ran out; use less"),
        (RuntimeError("mat1 and mat2 differ"), RuntimeError, "mat1 and mat2 differ$"),
        (RefusalError("it", "differs"), UserError, "^it: differs$"),
    ],
    ids=lambda value: str(value) if isinstance(value, Exception) else "",
)
def test_the_error_of_a_worker_says_what_was_wrong(given, error, message, count):
    def work(item):
        raise given

    with pytest.raises(error, match=message):
        list(in_parallel(work, range(9), count, advice="; use less"))
    assert active_children() == []


@pytest.mark.parametrize("end", [GeneratorExit, KeyboardInterrupt])
def test_a_pool_that_ends_leaves_the_workers_of_a_later_one(end):
    def stuck(item):
        time.sleep(item * 1000)

    def slow(item):
        time.sleep(0.2)
        return item

    first, second = in_parallel(stuck, range(9), 2), in_parallel(slow, range(20), 2)
    next(first)
    assert next(second) == 0
    with pytest.raises(end):
        first.throw(end)
    assert list(second) == list(range(1, 20))


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("ordered", [True, False])
def test_ctrl_c_ends_a_worker_that_is_waited_for(tmp_path, ordered):
    def work(item):
        interrupt_the_parent(item)
        time.sleep(10)
        (tmp_path / "finished").touch()

    with pytest.raises(KeyboardInterrupt):
        list(in_parallel(work, [0], 2, ordered=ordered))
    assert active_children() == []
    assert list(tmp_path.iterdir()) == []


CTRL_C_IN_A_FORK = """
import os, signal
from context_nmt.corpus.workers import in_parallel
os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    print(list(in_parallel(str, range(99), 2)))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_while_a_worker_is_forked_is_not_lost():
    command = [sys.executable, "-c", CTRL_C_IN_A_FORK]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ("interrupted\n", "")


@pytest.mark.usefixtures("ctrl_c")
def test_workers_leave_ctrl_c_to_the_first_process():
    assert list(in_parallel(lambda item: os.kill(os.getpid(), signal.SIGINT), range(9), 2)) == [None] * 9


ENDLESS = """
import os, time
from context_nmt.corpus.workers import in_parallel
def work(item):
    os.write(1, b"%d\\n" % os.getpid())  # in one piece: two workers write
    time.sleep(1000)
list(in_parallel(work, range(99), 2))
"""


@pytest.mark.slow
@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_stays_when_the_first_process_ends(ended_by):
    command = [sys.executable, "-c", ENDLESS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        working: set[int] = set()
        while len(working) < 2:
            working.add(int(parent.stdout.readline()))
        parent.send_signal(ended_by)
        parent.communicate(timeout=60)  # returns when no process is left that could write


def test_the_program_starts_on_systems_without_fork():
    program = (
        "import os, sys\n"
        "sys.modules['fcntl'] = None\n"
        "del os.fork, os.sched_getaffinity\n"
        "import context_nmt.commands\n"
        "from context_nmt.corpus import workers\n"
        "assert not workers.CAN_FORK and workers.usable_cores() >= 1\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
