"""Files and folders are written completely or not at all; lines end only at line feeds."""

import errno
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
    read_json_lines,
    read_lines,
    read_parallel,
    read_yaml,
    replacing,
    replacing_folder,
    write_json,
    write_lines,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def half_written(kind, path):
    """Write a file or folder, and fail."""
    with kind(path) as temporary:
        (temporary / "new" if temporary.is_dir() else temporary).write_text("half")
        raise KeyboardInterrupt


def test_a_file_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "new" / "file"
    with replacing(path) as temporary:
        temporary.write_text("whole")
        assert not path.exists()
        assert temporary.parent == path.parent  # else the replacement could be a copy
    assert path.read_text() == "whole"
    assert names(path.parent) == ["file"]


def test_a_folder_appears_when_it_is_whole_and_replaces_all_of_the_earlier_one(tmp_path):
    path = tmp_path / "new" / "folder"
    for number in (1, 2):
        with replacing_folder(path) as temporary:
            (temporary / f"file{number}").write_text("whole")
            (temporary / "sub").mkdir()
            assert not (path / f"file{number}").exists()
        assert names(path) == [f"file{number}", "sub"]
    assert names(path.parent) == ["folder"]


@pytest.mark.parametrize("kind", [replacing, replacing_folder])
def test_what_fails_leaves_nothing_but_what_was_there(tmp_path, kind):
    path = tmp_path / "it"
    with pytest.raises(KeyboardInterrupt):
        half_written(kind, path)
    assert names(tmp_path) == []
    earlier = path if kind is replacing else path / "earlier"
    earlier.parent.mkdir(exist_ok=True)
    earlier.write_text("earlier")
    with pytest.raises(KeyboardInterrupt):
        half_written(kind, path)
    assert earlier.read_text() == "earlier"
    assert names(tmp_path) == ["it"]
    assert kind is replacing or names(path) == ["earlier"]


def test_a_folder_that_vanishes_while_it_is_made_leaves_the_earlier_one(tmp_path):
    path = tmp_path / "folder"
    path.mkdir()
    (path / "earlier").touch()
    with pytest.raises(FileNotFoundError), replacing_folder(path) as temporary:
        temporary.rmdir()
    assert names(path) == ["earlier"]
    assert names(tmp_path) == ["folder"]


def test_a_folder_is_never_half_the_earlier_one(tmp_path, monkeypatch):
    """Removing a folder takes time, during which the machine may stop."""
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


def test_only_what_killed_processes_left_is_removed_by_the_next_one(tmp_path, dead):
    with subprocess.Popen(["sleep", "100"]) as living:
        for number in (dead, living.pid, os.getpid()):  # an earlier process had this one's number
            (tmp_path / f".file.{number}.partial").touch()
            (tmp_path / f".folder.{number}.partial").mkdir()
            (tmp_path / f".folder.{number}.partial/inside").touch()
        (tmp_path / f".other.{dead}.partial").touch()
        write_json(tmp_path / "file", 1)
        with replacing_folder(tmp_path / "folder"):
            pass
        living.kill()
    kept = (f".file.{living.pid}.partial", f".folder.{living.pid}.partial", f".other.{dead}.partial")
    assert set(names(tmp_path)) == {*kept, "file", "folder"}


def test_a_folder_that_was_killed_in_the_moment_of_its_replacement_comes_back(tmp_path, dead):
    (tmp_path / f".folder.{dead}.earlier").mkdir()
    (tmp_path / f".folder.{dead}.earlier" / "earlier").touch()
    with pytest.raises(KeyboardInterrupt):
        half_written(replacing_folder, tmp_path / "folder")
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
@example(lines=["\ufeffmarked", "\ufeffnot marked"])
@example(lines=[])
@example(lines=[""])
def test_lines_come_back_as_they_were_but_for_a_byte_order_mark(tmp_path_factory, lines):
    path = tmp_path_factory.getbasetemp() / "lines"
    assert write_lines(path, lines) == len(lines)
    assert path.read_bytes() == "".join(f"{line}\n" for line in lines).encode()
    assert (
        read_lines(path)
        == list(iterate_lines(path))
        == [*(line.removeprefix("\ufeff") for line in lines[:1]), *lines[1:]]
    )


@pytest.mark.parametrize(
    ("reader", "content", "message"),
    [
        (read_lines, "gut\r\nschön\n".encode() + "schön\n".encode("latin-1"), "line 3 is not UTF-8"),
        *((reader, None, "no such file") for reader in (read_lines, read_json)),
        *((read_json, content, "not JSON") for content in (b"{", b"", b'"\xff"')),
        (lambda path: list(read_json_lines(path)), b"{}\n{", "line 2 is not JSON"),
        (lambda path: list(read_json_lines(path)), b"[]", "line 1 is not a JSON object"),
        (read_parallel, b"", "the file is empty"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, reader, content, message):
    if content is not None:
        (tmp_path / "file").write_bytes(content)
    with pytest.raises(UserError, match=rf"^{tmp_path / 'file'}: {message}"):
        reader(tmp_path / "file")


@pytest.mark.parametrize("use", [read_lines, read_json, read_yaml, lambda path: write_lines(path, ["a"])])
def test_a_link_to_nothing_is_named_with_what_it_links_to(tmp_path, use):
    link, loop = tmp_path / "link", tmp_path / "loop"
    link.symlink_to("gone/file")
    loop.symlink_to("loop")
    with pytest.raises(UserError, match=rf"^{link}: is a link to gone/file, which does not exist$"):
        use(link)
    assert names(tmp_path) == ["link", "loop"]
    if use not in (read_json, read_yaml):
        with pytest.raises(UserError, match=rf"^{loop}: is a link to loop, "):
            use(loop)


def test_a_pipe_can_be_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"printf 'a\\nb\\n' > {pipe}"]):
        assert read_lines(pipe) == ["a", "b"]


def test_parallel_files_have_equal_lengths(tmp_path):
    for name, content in (("a", b"\xef\xbb\xbf1\n2"), ("b", b"x\ny\n"), ("c", b"one\n")):
        (tmp_path / name).write_bytes(content)
    assert read_parallel(tmp_path / "a", tmp_path / "b") == [["1", "2"], ["x", "y"]]
    with pytest.raises(UserError, match=r"c has 1 lines, .*a has 2"):
        read_parallel(tmp_path / "a", tmp_path / "c")


@pytest.mark.parametrize(
    ("write", "content", "error", "message"),
    [
        (write_lines, ["fine", "two\nlines"], UserError, r"line 2 contains a line break: 'two\\nlines'"),
        (write_lines, (str(1 // number) for number in (1, 0)), ZeroDivisionError, "division"),
        (write_json, {"a": {1, 2}}, TypeError, "set"),
    ],
)
def test_what_cannot_be_written_leaves_the_earlier_file(tmp_path, write, content, error, message):
    (tmp_path / "file").write_text("earlier")
    with pytest.raises(error, match=message):
        write(tmp_path / "file", content)
    assert (tmp_path / "file").read_text() == "earlier"
    assert names(tmp_path) == ["file"]


def test_json_comes_back_and_has_one_form(tmp_path):
    value = {"b": [1, 2.5, None, True], "a": {"ü": "\u2028"}}
    write_json(tmp_path / "one", value)
    write_json(tmp_path / "two", dict(reversed(value.items())))
    assert read_json(tmp_path / "one") == value
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_bytes().endswith(b"}\n")


def test_only_regular_files_are_replaced_and_links_are_kept(tmp_path):
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    link.symlink_to(target)
    with pytest.raises(UserError, match="pipe: is not a regular file"):
        write_lines(pipe, ["a"])
    assert pipe.is_fifo()
    write_lines(link, ["a"])
    assert (link.is_symlink(), read_lines(target)) == (True, ["a"])


def test_a_link_into_the_cache_of_dvc_is_replaced_and_the_cache_stays_as_it_is(tmp_path):
    cached, link = tmp_path / "cache/files/md5/7e" / ("0" * 29 + "f"), tmp_path / "report.html"
    write_lines(cached, ["old"])
    for target in (cached, cached.with_name("1" * 30)):  # the second is no longer there
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        write_lines(link, ["new"])
        assert (link.is_symlink(), read_lines(link), read_lines(cached)) == (False, ["new"], ["old"])
        assert not cached.with_name("1" * 30).exists()


@pytest.mark.parametrize("earlier", ["a file", "a link to a folder", "a link to nothing"])
def test_a_folder_takes_the_place_of_a_file_or_link_whose_folder_stays_as_it_is(tmp_path, earlier):
    target, path = tmp_path / "elsewhere/folder", tmp_path / "here/folder"
    write_lines(path, ["old"])
    if earlier != "a file":
        path.unlink()
        path.symlink_to(target)
    if earlier == "a link to a folder":
        write_lines(target / "old", ["old"])
    with replacing_folder(path) as temporary:
        (temporary / "new").touch()
    assert (path.is_symlink(), names(path), names(path.parent)) == (False, ["new"], ["folder"])
    assert earlier != "a link to a folder" or read_lines(target / "old") == ["old"]
