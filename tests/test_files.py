"""Files and folders that appear whole or not at all, and lines that end at a line feed only."""

import errno
import hashlib
import os
import shutil
import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context_nmt.files import (
    UserError,
    iterate_lines,
    read_json,
    read_lines,
    replacing,
    replacing_folder,
    sha256,
    write_json,
    write_lines,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "new" / "file"
    with replacing(path) as temporary:
        temporary.write_text("half ")
        assert not path.exists()
        assert temporary.parent == path.parent  # else the replacement could be a copy
        temporary.write_text("whole")
    assert path.read_text() == "whole"
    assert names(path.parent) == ["file"]


def write_half(path):
    with replacing(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt


def test_a_file_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write_half(tmp_path / "file")
    assert names(tmp_path) == []


def test_a_file_that_fails_leaves_the_earlier_one(tmp_path):
    path = tmp_path / "file"
    path.write_text("earlier")
    with pytest.raises(KeyboardInterrupt):
        write_half(path)
    assert path.read_text() == "earlier"
    assert names(tmp_path) == ["file"]


def test_a_folder_appears_when_it_is_whole_and_replaces_all_of_the_earlier_one(tmp_path):
    path = tmp_path / "new" / "folder"
    for number in (1, 2):
        with replacing_folder(path) as temporary:
            (temporary / f"file{number}").write_text("whole")
            (temporary / "sub").mkdir()
            assert not (path / f"file{number}").exists()
        assert names(path) == [f"file{number}", "sub"]
    assert names(path.parent) == ["folder"]


def fill_half(path):
    with replacing_folder(path) as temporary:
        (temporary / "file").touch()
        raise KeyboardInterrupt


def test_a_folder_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fill_half(tmp_path / "folder")
    assert names(tmp_path) == []


def test_a_folder_that_fails_leaves_the_earlier_one(tmp_path):
    path = tmp_path / "folder"
    path.mkdir()
    (path / "earlier").touch()
    with pytest.raises(KeyboardInterrupt):
        fill_half(path)
    assert names(path) == ["earlier"]
    assert names(tmp_path) == ["folder"]


def test_a_folder_that_vanishes_while_it_is_made_leaves_the_earlier_one(tmp_path):
    path = tmp_path / "folder"
    path.mkdir()
    (path / "earlier").touch()
    with pytest.raises(FileNotFoundError), replacing_folder(path) as temporary:
        temporary.rmdir()
    assert names(path) == ["earlier"]
    assert names(tmp_path) == ["folder"]


def test_a_folder_is_never_half_the_earlier_one(tmp_path, monkeypatch):
    """Removing a folder takes time, in which the machine may stop."""
    path = tmp_path / "folder"
    path.mkdir()
    for name in ("a", "b"):
        (path / name).touch()
    remove, seen = shutil.rmtree, []

    def look_first(folder, **options):
        seen.append(names(path) if path.exists() else None)
        remove(folder, **options)

    monkeypatch.setattr(shutil, "rmtree", look_first)
    with replacing_folder(path) as temporary:
        (temporary / "c").touch()
    assert seen
    assert all(content == ["c"] for content in seen)
    assert names(tmp_path) == ["folder"]


@pytest.fixture
def dead():
    """The number of a process that has ended."""
    with subprocess.Popen(["true"]) as process:
        return process.pid


def test_what_killed_processes_left_is_removed_by_the_next_one(tmp_path, dead):
    for kind in ("file", "folder"):
        (tmp_path / f".{kind}.{dead}.partial").mkdir()
        (tmp_path / f".{kind}.{dead}.partial" / "inside").touch()
    (tmp_path / f".file.{os.getpid()}.partial").touch()  # an earlier process had this one's number
    (tmp_path / f".folder.{os.getpid()}.partial").mkdir()
    (tmp_path / f".other.{dead}.partial").touch()
    write_json(tmp_path / "file", 1)
    with replacing_folder(tmp_path / "folder"):
        pass
    assert names(tmp_path) == [f".other.{dead}.partial", "file", "folder"]


def test_what_a_living_process_writes_stays(tmp_path):
    with subprocess.Popen(["sleep", "100"]) as process:
        left = [f".{kind}.{process.pid}.partial" for kind in ("file", "folder")]
        for name in left:
            (tmp_path / name).mkdir()
        write_json(tmp_path / "file", 1)
        with replacing_folder(tmp_path / "folder"):
            pass
        process.kill()
    assert names(tmp_path) == [*left, "file", "folder"]


def test_a_folder_that_was_killed_in_the_moment_of_its_replacement_comes_back(tmp_path, dead):
    (tmp_path / f".folder.{dead}.earlier").mkdir()
    (tmp_path / f".folder.{dead}.earlier" / "earlier").touch()
    with pytest.raises(KeyboardInterrupt):
        fill_half(tmp_path / "folder")
    assert names(tmp_path) == ["folder"]
    assert names(tmp_path / "folder") == ["earlier"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
@pytest.mark.parametrize("kind", [replacing, replacing_folder])
def test_a_full_disk_is_one_line_and_other_failures_pass(tmp_path, kind, number):
    with pytest.raises(UserError) as error, kind(tmp_path / "it"):
        raise OSError(number, os.strerror(number))
    assert str(error.value).startswith(f"{tmp_path / 'it'}: cannot be written ({os.strerror(number)});")
    with pytest.raises(ConnectionError), kind(tmp_path / "it"):
        raise ConnectionError
    assert names(tmp_path) == []


STRANGE = [
    "",
    " a ",
    "U+2028 \u2028 and U+0085 \x85",
    "\r",
    "a\rb\r",
    "\x0b\x0c\x1c\x1d\x1e\u2029",
    "\ufeff",
    "\x00",
    "ü€😀",
]


@given(lines=st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))))
@example(lines=STRANGE)
@example(lines=[])
@example(lines=[""])
def test_lines_come_back_as_they_were(tmp_path_factory, lines):
    path = tmp_path_factory.getbasetemp() / "lines"
    assert write_lines(path, lines) == len(lines)
    assert path.read_bytes() == "".join(f"{line}\n" for line in lines).encode()
    assert read_lines(path) == list(iterate_lines(path)) == lines


def test_the_last_line_may_lack_its_line_feed(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo")
    assert read_lines(path) == ["one", "two"]


def test_bytes_that_are_not_utf8_are_named_by_their_line(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes("gut\r\nschön\n".encode() + "schön\n".encode("latin-1"))
    with pytest.raises(UserError) as error:
        read_lines(path)
    assert str(error.value) == f"{path}: line 3 is not UTF-8 (invalid start byte at byte 3)"


def test_a_missing_file_is_named(tmp_path):
    for reader in (read_lines, read_json):
        with pytest.raises(UserError) as error:
            reader(tmp_path / "none")
        assert str(error.value) == f"{tmp_path / 'none'}: no such file"


def test_a_line_break_inside_a_line_is_refused_and_the_earlier_file_stays(tmp_path):
    path = tmp_path / "lines"
    write_lines(path, ["earlier"])
    with pytest.raises(UserError) as error:
        write_lines(path, ["fine", "two\nlines"])
    assert str(error.value) == f"{path}: line 2 would hold a line break: 'two\\nlines'"
    assert read_lines(path) == ["earlier"]
    assert names(tmp_path) == ["lines"]


def test_lines_that_fail_while_they_are_made_leave_the_earlier_file(tmp_path):
    path = tmp_path / "lines"
    write_lines(path, ["earlier"])
    with pytest.raises(ZeroDivisionError):
        write_lines(path, (str(1 // number) for number in (1, 0)))
    assert read_lines(path) == ["earlier"]


def test_json_comes_back_and_has_one_form(tmp_path):
    value = {"b": [1, 2.5, None, True], "a": {"ü": "\u2028"}}
    write_json(tmp_path / "one", value)
    write_json(tmp_path / "two", dict(reversed(value.items())))
    assert read_json(tmp_path / "one") == value
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_bytes().endswith(b"}\n")


def test_a_value_that_json_lacks_leaves_the_earlier_file(tmp_path):
    write_json(tmp_path / "file", 1)
    with pytest.raises(TypeError):
        write_json(tmp_path / "file", {"a": {1, 2}})
    assert read_json(tmp_path / "file") == 1
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("content", [b"{", b"", b'"\xff"'])
def test_what_is_not_json_is_named(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        read_json(path)
    assert str(error.value).startswith(f"{path}: not JSON (")


def test_the_hash_is_of_the_bytes(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"\r\n" * 100_000)
    assert sha256(path) == hashlib.sha256(b"\r\n" * 100_000).hexdigest()
