"""Files from a server that breaks off, lies, and comes back."""

import hashlib
import json
import time

import pytest

from keras_elmo import downloads
from keras_elmo.downloads import RemoteFile, fetch
from tests.web import serving

pytestmark = pytest.mark.once

CONTENT = bytes(range(256)) * 40
OTHER = CONTENT[::-1]
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def web():
    with serving() as web:
        web.files["/a/file.bin"] = CONTENT
        yield web


@pytest.fixture
def one_try(monkeypatch):
    monkeypatch.setattr(downloads, "TRIES", 1)


def remote(web, *paths, **facts):
    paths = paths or ("/a/file.bin",)
    return RemoteFile("file.bin", tuple(web.address + path for path in paths), **facts)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_fetched_once(web, tmp_path, capsys):
    file = remote(web, size=len(CONTENT), sha256=SHA256.upper())
    assert fetch(file, tmp_path) == tmp_path / "file.bin"
    assert fetch(file, tmp_path).read_bytes() == CONTENT
    assert web.requests == [("/a/file.bin", None)]
    assert names(tmp_path) == ["file.bin"]
    told = capsys.readouterr()
    assert told.out == "" and f"downloading {web.address}/a/file.bin" in told.err


def test_what_broke_off_is_gone_on_with(web, tmp_path, one_try):
    web.cut["/a/file.bin"] = 3000
    with pytest.raises(ConnectionError, match=r"broke off after 3,000 of 10,240 bytes"):
        fetch(remote(web), tmp_path)
    assert names(tmp_path) == ["file.bin.part", "file.bin.part.json"]
    assert (tmp_path / "file.bin.part").read_bytes() == CONTENT[:3000]
    assert fetch(remote(web), tmp_path).read_bytes() == CONTENT
    assert web.requests[-1] == ("/a/file.bin", "bytes=3000-")
    assert names(tmp_path) == ["file.bin"]


def test_one_call_goes_on_by_itself(web, tmp_path):
    web.cut["/a/file.bin"] = 3000
    assert fetch(remote(web), tmp_path).read_bytes() == CONTENT
    assert [wanted for _, wanted in web.requests] == [None, "bytes=3000-"]


def test_a_server_that_always_breaks_off_is_given_up(web, tmp_path, monkeypatch):
    answer = web.answer

    def always_cut(handler):
        web.cut[handler.path] = 100
        answer(handler)

    monkeypatch.setattr(web, "answer", always_cut)
    with pytest.raises(ConnectionError, match="broke off after 100 of"):
        fetch(remote(web), tmp_path)
    # The second answer brought nothing new.
    assert len(web.requests) == 2


@pytest.mark.parametrize("ranges", [True, False])
def test_a_file_that_changed_meanwhile_is_fetched_anew(web, tmp_path, one_try, ranges):
    web.cut["/a/file.bin"] = 3000
    with pytest.raises(ConnectionError):
        fetch(remote(web), tmp_path)
    web.files["/a/file.bin"] = OTHER[:5000]
    web.ranges = ranges
    assert fetch(remote(web), tmp_path).read_bytes() == OTHER[:5000]


def test_a_rest_that_is_no_longer_there_is_not_asked_for_twice(web, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(CONTENT)
    note = {
        "address": f"{web.address}/a/file.bin",
        "validator": f'"{hashlib.md5(CONTENT).hexdigest()}"',
    }
    (tmp_path / "file.bin.part.json").write_text(json.dumps(note))
    assert fetch(remote(web), tmp_path).read_bytes() == CONTENT
    assert [wanted for _, wanted in web.requests] == [f"bytes={len(CONTENT)}-", None]


@pytest.mark.parametrize("note", [None, "{", "[]", '{"address": "http://other/"}'])
def test_bytes_of_nobody_knows_what_are_thrown_away(web, tmp_path, note):
    (tmp_path / "file.bin.part").write_bytes(b"something else")
    if note is not None:
        (tmp_path / "file.bin.part.json").write_text(note)
    assert fetch(remote(web), tmp_path).read_bytes() == CONTENT
    assert web.requests == [("/a/file.bin", None)]
    assert names(tmp_path) == ["file.bin"]


@pytest.mark.parametrize(
    "facts, told",
    [
        ({"sha256": "0" * 64}, "SHA-256 checksum 000"),
        ({"size": 10_241}, "10,241 bytes. Received: 10,240"),
    ],
)
def test_another_file_than_the_published_one_is_removed(web, tmp_path, facts, told):
    with pytest.raises(ValueError, match="was removed") as raised:
        fetch(remote(web, **facts), tmp_path)
    assert told in str(raised.value) and web.address in str(raised.value)
    assert names(tmp_path) == []


def test_what_lies_there_is_checked_and_kept(web, tmp_path):
    (tmp_path / "file.bin").write_bytes(OTHER)
    with pytest.raises(ValueError, match=r"Remove `.*file\.bin` to fetch it again"):
        fetch(remote(web, sha256=SHA256), tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == OTHER
    assert web.requests == []


def test_the_next_address_is_tried(web, tmp_path):
    file = remote(web, "/nothing", "/a/file.bin", sha256=SHA256)
    assert fetch(file, tmp_path).read_bytes() == CONTENT
    with pytest.raises(ConnectionError) as raised:
        fetch(RemoteFile("b", (f"{web.address}/x", f"{web.address}/y")), tmp_path)
    assert str(raised.value) == (
        f"{web.address}/x: HTTP 404 Not Found; {web.address}/y: HTTP 404 Not Found"
    )


def test_a_server_that_is_not_there_is_told(tmp_path):
    with serving() as web:
        address = web.address
    with pytest.raises(ConnectionError, match=f"{address}/x: .*refused"):
        fetch(RemoteFile("x", (f"{address}/x",)), tmp_path)


def test_a_server_that_goes_silent_is_given_up(web, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "TIMEOUT", 0.1)

    def silent(handler):
        time.sleep(0.5)
        handler.close_connection = True

    monkeypatch.setattr(web, "answer", silent)
    with pytest.raises(ConnectionError, match="timed out"):
        fetch(remote(web), tmp_path)


def test_a_server_of_parts_that_nobody_asked_for_is_given_up(
    web, tmp_path, monkeypatch
):
    def part(handler):
        handler.send_response(206)
        handler.send_header("Content-Range", "bytes 5-9/10")
        handler.end_headers()

    monkeypatch.setattr(web, "answer", part)
    with pytest.raises(ConnectionError, match="a part of the file only"):
        fetch(remote(web), tmp_path)


def test_a_full_disk_is_not_the_servers_fault(web, tmp_path, monkeypatch):
    def full(path, mode):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(downloads, "open", full, raising=False)
    with pytest.raises(OSError, match="No space left") as raised:
        fetch(remote(web, "/a/file.bin", "/nothing"), tmp_path)
    assert not isinstance(raised.value, ConnectionError)
    assert len(web.requests) == 1


def test_a_length_that_nobody_tells_is_no_error(web, tmp_path, monkeypatch):
    def plain(handler):
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(CONTENT)

    monkeypatch.setattr(web, "answer", plain)
    assert fetch(remote(web, sha256=SHA256), tmp_path).read_bytes() == CONTENT
