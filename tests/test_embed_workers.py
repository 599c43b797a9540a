"""Several processes: the vectors of one, in order, whatever dies on the way."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo import embed_workers
from tests.helpers import CHECKOUT
from tests.models_for_tests import character_backbone

SENTENCES = [[f"word{n % 7}"] * (n % 5) for n in range(23)]


@pytest.fixture(scope="module")
def backbone():
    return character_backbone()


@pytest.fixture(scope="module")
def preset(backbone, tmp_path_factory):
    path = tmp_path_factory.mktemp("workers") / "preset"
    backbone.save_to_preset(path)
    return path


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(embed_workers, "PIECE_SENTENCES", 5)


# What a process does, without a model that takes seconds to load: zeros, and death.
STAND_IN = """
import os, pickle, sys
import numpy as np

source = sys.stdin.buffer
pickle.load(source)
while True:
    try:
        sentences = pickle.load(source)
    except EOFError:
        break
    if ["deadly"] in sentences:
        os.kill(os.getpid(), 9)
    vectors = [np.zeros((len(sentence), 8)) for sentence in sentences]
    pickle.dump((None, vectors), sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""
# The process that first gets the word "deadly" kills itself.
DIES_ONCE = """
import os, pathlib, signal
from keras_elmo import embed_workers

embed_iter = embed_workers.embed_iter

def deadly(sentences, *args, **kwargs):
    died = pathlib.Path(os.environ["DIED"])
    if ["deadly"] in sentences and not died.exists():
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return embed_iter(sentences, *args, **kwargs)

embed_workers.embed_iter = deadly
embed_workers.work()
"""


@pytest.fixture
def stand_in(monkeypatch):
    """Processes that start at once."""
    monkeypatch.setattr(embed_workers, "_CHILD", STAND_IN)


def children(number="self"):
    """Numbers of a process' children."""
    tasks = pathlib.Path(f"/proc/{number}/task")
    if not tasks.is_dir():
        pytest.skip("no /proc to find processes in")
    return {
        int(child)
        for task in tasks.iterdir()
        for child in (task / "children").read_text().split()
    }


def test_vectors_are_those_of_one_process_though_one_of_two_is_killed(
    backbone, preset, tmp_path, monkeypatch
):
    monkeypatch.setattr(embed_workers, "_CHILD", DIES_ONCE)
    monkeypatch.setenv("DIED", str(tmp_path / "died"))
    sentences = [*SENTENCES, ["deadly"], *SENTENCES]
    expected = list(keras_elmo.embed_iter(sentences, backbone, "all"))
    with pytest.warns(UserWarning, match="signal 9") as told:
        got = list(embed_workers.embed_in_workers(sentences, preset, 2, layers="all"))
    assert [str(warning.message) for warning in told] == [
        "A process of `workers` ended (signal 9) over sentences 20 to 24. Another one "
        "does them again."
    ]
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6, rtol=0)


@pytest.mark.once
def test_a_piece_that_kills_every_process_is_named(preset, stand_in):
    rows = embed_workers.embed_in_workers([*SENTENCES, ["deadly"]], preset, 2)
    rule = "3 processes of `workers` ended over sentences 20 to 23, the last one by sig"
    with (
        pytest.warns(UserWarning) as told,
        pytest.raises(ChildProcessError, match=rule),
    ):
        list(rows)
    # Of the two that another one followed, whichever thread was faster.
    assert [str(warning.message) for warning in told] == [
        "A process of `workers` ended (signal 9) over sentences 20 to 23. Another one "
        "does them again."
    ] * 2
    assert not children()


@pytest.mark.once
def test_wrong_options_are_told_without_a_sentence_too(preset):
    with pytest.raises(ValueError, match=r"`layers` must be .* layers=9"):
        list(embed_workers.embed_in_workers([], preset, 1, layers=9))


@pytest.mark.once
def test_wrong_arguments_are_told_at_once(preset):
    with pytest.raises(ValueError, match="`workers` must be"):
        embed_workers.embed_in_workers([], preset, 0)
    with pytest.raises(TypeError, match="`sentences` must be"):
        embed_workers.embed_in_workers("the cat", preset, 1)


@pytest.mark.once
def test_the_iterator_reads_few_pieces_ahead_and_ends_its_processes(preset, stand_in):
    read = []

    def sentences():
        for number in range(1000):
            read.append(number)
            yield ["word"] * number

    rows = embed_workers.embed_in_workers(sentences(), preset, 2)
    assert [len(next(rows)) for _ in range(12)] == list(range(12))
    # Two pieces done, one being handed out, three ahead of it.
    assert len(read) == 25
    assert children()
    rows.close()
    assert not children()


@pytest.mark.once
def test_pieces_are_bounded_by_tokens_too(monkeypatch):
    monkeypatch.setattr(embed_workers, "PIECE_TOKENS", 7)
    pieces = embed_workers._pieces([["a"] * 10, [], ["b"] * 6, ["c"], ["d"]])
    assert [(first, len(piece)) for first, piece in pieces] == [(0, 1), (1, 3), (4, 1)]
    assert list(embed_workers._pieces([])) == [(0, [])]


@pytest.mark.once
def test_threads_are_shared_out(monkeypatch):
    assert embed_workers.thread_shares(8, 3) == [3, 3, 2]
    assert embed_workers.thread_shares(2, 3) == [1, 1, 1]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("MKL_NUM_THREADS", "64")
    environment = embed_workers.thread_environment(4)
    assert environment["OMP_NUM_THREADS"] == "1"
    assert environment["MKL_NUM_THREADS"] == "4"
    assert environment["NPROC"] == "4"


@pytest.mark.once
def test_the_command_writes_the_file_of_one_process(run, backbone, preset, tmp_path):
    cache = keras_elmo.TokenCache.create(tmp_path / "c.h5", ["word1"], backbone)
    text = tmp_path / "in.txt"
    text.write_text("".join(" ".join(sentence) + "\n" for sentence in SENTENCES))
    embed = ("embed", text, "--model", preset, "--json", "--output")
    code, plain, _ = run(*embed, tmp_path / "plain.npz")
    assert code == 0
    options = ("--workers", 2, "--token-cache", cache.path)
    code, out, err = run(*embed, tmp_path / "shared.npz", *options)
    assert code == 0, err
    del (plain := json.loads(plain))["output"]
    assert plain.items() <= json.loads(out).items()
    with (
        np.load(tmp_path / "plain.npz") as one,
        np.load(tmp_path / "shared.npz") as two,
    ):
        assert list(one) == list(two)
        for name in map(str, range(len(SENTENCES))):
            np.testing.assert_allclose(two[name], one[name], atol=1e-6)


@pytest.mark.once
def test_a_model_in_memory_goes_to_the_processes_as_a_preset(
    backbone, tmp_path, stand_in
):
    cache = keras_elmo.TokenCache.create(tmp_path / "c.h5", ["word1"], backbone)
    with embed_workers.embedder(backbone, 2) as (tokenizer, embed):
        assert tokenizer.max_characters_per_token == 16
        stored = keras_elmo.ElmoBackbone.from_preset(embed.keywords["preset"])
        # A cache is handed on by its name: each process maps the file itself.
        assert len(list(embed(SENTENCES, token_cache=cache))) == len(SENTENCES)
    for one, other in zip(stored.get_weights(), backbone.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.once
def test_processes_end_with_the_one_that_started_them(preset):
    """Even when it is killed, and can end nothing itself."""
    program = """
import itertools, sys
from keras_elmo import embed_workers
embed_workers._CHILD = sys.argv[2]
for row in embed_workers.embed_in_workers(itertools.repeat(["word"]), sys.argv[1], 2):
    print(len(row), flush=True)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(preset), STAND_IN],
        stdout=subprocess.PIPE,
        env={**os.environ, "KERAS_BACKEND": keras.config.backend()},
        cwd=CHECKOUT,
    )
    assert parent.stdout.readline() == b"1\n"
    started = children(parent.pid)
    assert started
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 60
    while any(
        pathlib.Path(f"/proc/{number}/cmdline").exists()
        and pathlib.Path(f"/proc/{number}/cmdline").read_bytes()
        for number in started
    ):
        assert time.monotonic() < deadline
        time.sleep(0.05)
