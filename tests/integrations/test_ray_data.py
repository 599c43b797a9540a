"""Ray Data: every sentence once, whatever dies and however often it is asked for."""

import gzip
import importlib
import os
import pathlib
import signal
import threading
import time
import warnings

import numpy as np
import pytest

import keras_elmo
from keras_elmo.lines import read_lines
from tests.models_for_tests import character_backbone

pytestmark = pytest.mark.once
pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
dataset = pytest.importorskip("pyarrow.dataset")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = 20


def lines(number, name):
    """Sentences of 0 to 8 words."""
    return [
        " ".join(f"{name}{n * k % 31}" for k in range(n % 9)) for n in range(number)
    ]


A, B, C = lines(410, "a"), lines(30, "b"), lines(205, "c")


@pytest.fixture(scope="module")
def adapter():
    pytest.importorskip("ray", reason="ray is not installed")
    with warnings.catch_warnings():
        # Ray's own, and those of what it imports.
        warnings.simplefilter("ignore")
        return importlib.import_module("keras_elmo.integrations.ray_data")


@pytest.fixture(scope="module")
def ray(adapter):
    """A Ray on this machine with room for two workers."""
    ray = importlib.import_module("ray")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            object_store_memory=100 << 20,
        )
        context = importlib.import_module("ray.data").DataContext.get_current()
        context.enable_progress_bars = False
        yield ray
        ray.shutdown()


@pytest.fixture(scope="module")
def backbone():
    return character_backbone()


@pytest.fixture(scope="module")
def preset(backbone, tmp_path_factory):
    path = tmp_path_factory.mktemp("ray") / "preset"
    backbone.save_to_preset(path)
    return path


@pytest.fixture
def run_pieces(adapter, monkeypatch):
    """`embed_files` in this process, without a Ray: the same functions, in a loop."""

    class Rows(list):
        def flat_map(self, function, fn_kwargs):
            return Rows(new for row in self for new in function(row, **fn_kwargs))

        def map(self, worker, fn_constructor_args, **_):
            return Rows(map(worker(*fn_constructor_args), self))

        def iter_rows(self):
            return iter(self)

    def from_items(rows, override_num_blocks=None):
        return Rows(rows)

    def run(files, model, output, **options):
        with monkeypatch.context() as patch:
            patch.setattr(adapter.ray_data, "from_items", from_items)
            return adapter.embed_files(
                files, model, output, **{"rows_per_file": ROWS, **options}
            )

    return run


@pytest.fixture
def corpus(tmp_path):
    """A folder of texts: byte order mark, CRLF, packed, Parquet, a last line cut."""
    folder = tmp_path / "corpus"
    (folder / "more").mkdir(parents=True)
    text = "\ufeff" + "\r\n".join(A[:200]) + "\n" + "\n".join(A[200:])
    (folder / "a.txt").write_bytes(text.encode())
    packed = gzip.compress("".join(f"{line}\n" for line in B).encode())
    (folder / "more/b.txt.gz").write_bytes(packed)
    table = pyarrow.table({"number": range(len(C)), "text": C})
    parquet.write_table(table, folder / "c.parquet", row_group_size=70)
    (folder / "empty.txt").touch()
    (folder / "_SUCCESS").touch()
    return folder


def kill_a_worker(output, killed, over):
    """Kills one of the processes that embed once the first file is there."""
    while not over.is_set():
        done = [p for p in output.rglob("*.parquet") if not p.name.startswith(".")]
        if done:
            for process in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    title = (process / "cmdline").read_bytes()
                except OSError:
                    continue
                if title.startswith(b"ray::") and b"_PieceEmbedder" in title:
                    os.kill(int(process.name), signal.SIGKILL)
                    killed.append(len(done))
                    return
        time.sleep(0.005)


def check_rows(output, backbone, expected):
    """Each sentence is there once, under its number, with its vectors."""
    rows = dataset.dataset(output, partitioning="hive").to_table().to_pylist()
    found = {name: [row for row in rows if row["source"] == name] for name in expected}
    assert sum(map(len, found.values())) == len(rows)
    for name, sentences in expected.items():
        stored = sorted(found[name], key=lambda row: row["number"])
        assert [row["number"] for row in stored] == list(range(len(sentences)))
        assert [row["text"] for row in stored] == sentences
        vectors = keras_elmo.embed_iter(map(str.split, sentences), backbone)
        for row, wanted in zip(stored, vectors, strict=True):
            got = np.array(row["vectors"], "float32").reshape(-1, 8)
            np.testing.assert_allclose(got, wanted, atol=1e-6, rtol=0)


@pytest.mark.skipif(
    not os.path.isdir("/proc/self"), reason="no /proc to find workers in"
)
def test_nothing_is_lost_or_twice_when_a_worker_is_killed_and_after_a_restart(
    adapter, ray, run_pieces, backbone, preset, corpus, tmp_path
):
    output = tmp_path / "vectors"
    killed, over = [], threading.Event()
    killer = threading.Thread(target=kill_a_worker, args=(output, killed, over))
    killer.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            summary = adapter.embed_files(
                corpus, preset, output, rows_per_file=ROWS, workers=2
            )
        finally:
            over.set()
            killer.join()
    total = 21 + 1 + 11
    assert summary == {
        "output": str(output),
        "sources": 4,
        "sentences": len(A) + len(B) + len(C),
        "files": total,
        "files_kept": 0,
    }
    assert len(killed) == 1 and killed[0] < total, "no worker was killed in the middle"
    expected = {"a.txt": A, "more/b.txt.gz": B, "c.parquet": C}
    check_rows(output, backbone, expected)
    assert not list(output.rglob(".tmp-*"))
    # Again, with two files of the output lost, a write that was cut, a new source.
    made = sorted(output.rglob("*.parquet"))
    before = {path: path.stat().st_mtime_ns for path in made}
    for path in made[3:5]:
        path.unlink()
    (made[0].parent / ".tmp-0-part.parquet").write_bytes(b"PAR1")
    (corpus / "d.txt").write_text("the bank\n")
    summary = run_pieces(corpus, preset, output)
    assert summary["files_kept"] == total - 2 and summary["files"] == total + 1
    check_rows(output, backbone, {**expected, "d.txt": ["the bank"]})
    assert not list(output.rglob(".tmp-*"))
    after = {path: path.stat().st_mtime_ns for path in made}
    assert [path for path in made if after[path] != before[path]] == made[3:5]


def test_all_layers_pooled_vectors_and_lists_of_tokens(
    run_pieces, backbone, preset, tmp_path
):
    tokens = [["New York", "is"], [], ["big"]]
    parquet.write_table(pyarrow.table({"tokens": tokens}), tmp_path / "t.parquet")
    options = {"column": "tokens", "layers": "all", "pooling": "mean"}
    options["dtype"] = "int8"
    run_pieces(tmp_path / "t.parquet", preset, tmp_path / "out", **options)
    rows = dataset.dataset(tmp_path / "out", partitioning="hive").to_table().to_pylist()
    assert [row["text"] for row in rows] == ["New York is", "", "big"]
    expected = keras_elmo.embed(
        tokens, backbone, layers="all", pooling="mean", dtype="int8"
    )
    got = np.array([row["vectors"] for row in rows])
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_what_cannot_be_read_is_named_and_the_rest_stays(
    adapter, run_pieces, preset, corpus, tmp_path
):
    output = tmp_path / "out"
    bad = corpus / "more/bad.txt"
    bad.write_bytes(b"fine\n" * 30 + b"not \xff\n")
    with pytest.raises(ValueError, match=r"bad\.txt` line 31: not UTF-8"):
        run_pieces(bad, preset, output)
    assert [p.name for p in output.rglob("*.parquet")] == ["part-000000000000.parquet"]
    with pytest.raises(ValueError, match=r"c\.parquet` has no column 'line'"):
        run_pieces(corpus / "c.parquet", preset, tmp_path / "out2", column="line")
    with pytest.raises(ValueError, match=r"row 0: a sentence must be a string or a li"):
        run_pieces(corpus / "c.parquet", preset, tmp_path / "out3", column="number")
    shorter = {"path": str(bad), "part": str(output / "p.parquet"), "offset": 0}
    worker = adapter._PieceEmbedder(preset, "whitespace", "text", {})
    row = worker({**shorter, "start": 0, "stop": 40})
    assert "line 31: not UTF-8" in row["error"]
    bad.write_bytes(b"fine\n" * 30)
    row = worker({**shorter, "start": 0, "stop": 40})
    assert row["error"].endswith("bad.txt` was changed while it was read.")
    assert not (output / "p.parquet").exists()
    (corpus / "x.parquet").write_bytes(b"PAR1, not")
    with pytest.raises(ValueError, match=r"x\.parquet` is no Parquet file"):
        run_pieces(corpus / "x.parquet", preset, tmp_path / "out4")
    with pytest.raises(ValueError, match=r"`layers` must be .*layers=9"):
        run_pieces(corpus / "a.txt", preset, tmp_path / "out5", layers=9)


def test_another_run_is_refused(run_pieces, preset, corpus, tmp_path):
    output = tmp_path / "out"
    small = tmp_path / "small.txt"
    small.write_text("a b\n")
    run_pieces(small, preset, output)
    with pytest.raises(
        ValueError, match=r"holds another run: layers is 0, .* 'mix'; p"
    ):
        run_pieces(small, preset, output, layers=0, pooling="mean")
    character_backbone().save_to_preset(preset.parent / "other")
    with pytest.raises(ValueError, match="model_sha256 is"):
        run_pieces(small, preset.parent / "other", output)
    small.write_text("a c\n")
    os.utime(small, (1, 1))
    with pytest.raises(ValueError, match=r"the file 'small\.txt' was changed"):
        run_pieces(small, preset, output)
    (output / "_run.json").write_text("[]")
    with pytest.raises(ValueError, match=r"_run\.json` does not describe a run"):
        run_pieces(small, preset, output)
    (output / "_run.json").unlink()
    with pytest.raises(FileExistsError, match="holds no run"):
        run_pieces(small, preset, output)


def test_files_that_are_missing_or_have_one_name(run_pieces, preset, corpus, tmp_path):
    output = tmp_path / "out"
    with pytest.raises(FileNotFoundError, match=r"none\.txt` does not exist"):
        run_pieces([corpus / "a.txt", corpus / "none.txt"], preset, output)
    (corpus / "more/a.txt").write_text("a\n")
    with pytest.raises(ValueError, match="must have different names"):
        run_pieces([corpus / "a.txt", corpus / "more/a.txt"], preset, output)
    with pytest.raises(ValueError, match="at least one file"):
        run_pieces([], preset, output)
    assert not output.exists()
    summary = run_pieces(f"file://{corpus}", preset, f"file://{output}", pooling="mean")
    assert summary["sources"] == 5
    assert (output / "source=more%2Fa.txt/part-000000000000.parquet").is_file()


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
@pytest.mark.parametrize("rows", [1, 3, 4, 100])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"a",
        b"a\n",
        b"\xef\xbb\xbfa\r\nb\n\n\nc",
        b"1\n\xef\xbb\xbf2\n3\n4\n",
    ],
)
def test_pieces_of_a_text_are_the_text(
    adapter, tmp_path, monkeypatch, block, rows, content
):
    pieces = importlib.import_module("keras_elmo.integrations.corpus_pieces")
    monkeypatch.setattr(pieces, "READ_BYTES", block)
    path = tmp_path / "t.txt"
    path.write_bytes(content)
    planned = pieces.plan_pieces({"path": str(path), "folder": "out"}, "text", rows)
    made = [pieces.Piece(*(row[f] for f in pieces.Piece._fields)) for row in planned]
    read = [list(pieces.read_piece(piece, "text")) for piece in made]
    assert [len(part) for part in read] == [p.stop - p.start for p in made]
    assert all(len(part) == rows for part in read[:-1])
    assert [line for part in read for line in part] == list(read_lines(path))


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(importlib.import_module("sys").modules, "ray.data", None)
    modules = importlib.import_module("sys").modules
    monkeypatch.delitem(modules, "keras_elmo.integrations.ray_data", raising=False)
    with pytest.raises(ImportError, match=r"keras-elmo\[ray\]"):
        importlib.import_module("keras_elmo.integrations.ray_data")
