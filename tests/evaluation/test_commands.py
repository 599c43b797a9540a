"""`keras-elmo probe` and `keras-elmo senses`, from files to files."""

import json
import sys

import pytest

from tests.evaluation.word_files import (
    save_language_model,
    write_corpus,
    write_pairs,
    write_senses,
    write_tags,
)

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_language_model(tmp_path_factory.mktemp("model") / "preset")


@pytest.fixture
def files(tmp_path):
    write_tags(tmp_path / "train.txt", 12)
    write_tags(tmp_path / "test.txt", 4)
    write_pairs(tmp_path / "training.data")
    write_pairs(tmp_path / "test.data")
    write_senses(tmp_path / "words", train=8, test=4)
    write_corpus(tmp_path / "corpus.txt")
    vectors = "money 1 0\nriver 0 1\nloan 1 0\nthe 0.1 0.1\n"
    (tmp_path / "vectors.txt").write_text(vectors)
    return tmp_path


@pytest.fixture
def quick(monkeypatch):
    """Probes of few steps: what they learn is tested elsewhere."""
    from keras_elmo.evaluation import command

    run = command.probe

    def probe(*arguments, **options):
        return run(*arguments, **options, steps=2)

    monkeypatch.setattr(command, "probe", probe)


def test_probe_writes_numbers_tables_and_pictures(run, model, files, quick):
    arguments = [
        *("probe", "--model", model, "--output", files / "out", "--seeds", 1),
        *("--pos", files / "train.txt", files / "test.txt"),
        *("--chunks", files / "train.txt", files / "test.txt"),
        *("--senses", files / "words"),
        *("--wic", files / "training.data", files / "test.data"),
        *("--text", files / "corpus.txt", "--word-vectors", files / "vectors.txt"),
        *("--cache", files / "cache"),
    ]
    code, told, _ = run(*arguments, "--json")
    assert code == 0
    results = json.loads(told)
    measured = {"pos", "chunks", "senses", "words_in_context", "perplexity"}
    assert set(results) == measured
    # The same files, the same tokens, the same probe.
    assert results["pos"] == results["chunks"]
    assert results["perplexity"]["perplexity"] > 1
    out = files / "out"
    names = ["layers.png", "results.json", "tables.md", "vectors.png"]
    assert sorted(path.name for path in out.iterdir()) == names
    assert json.loads((out / "results.json").read_text("utf-8")) == results
    for name in ("layers.png", "vectors.png"):
        assert (out / name).read_bytes().startswith(b"\x89PNG")
    tables = (out / "tables.md").read_text("utf-8")
    accuracy = 100 * results["senses"]["vectors"]["word2vec average"]["neighbors"]
    assert f"| word2vec average | {accuracy:.1f} |" in tables
    mix = results["pos"]["layers"]["mix"]["accuracy"]
    assert f"| mix | {100 * mix:.1f} ± 0.0 |" in tables
    # Once more: refused without a word to overwrite, and not computed again.
    code, _, log = run(*arguments)
    assert code == 1 and "exists" in log
    code, told, _ = run(*arguments, "--overwrite")
    assert code == 0
    assert "parts of speech" in told and "most frequent" in told


def test_probe_says_what_is_wrong_before_it_computes(run, model, files, monkeypatch):
    begin = ["probe", "--model", model, "--output", files / "out"]
    text = ["--text", files / "corpus.txt"]
    (files / "uneven.txt").write_text("The DT B-NP\ndog NN\n", "utf-8")
    chunks = ["--chunks", files / "train.txt", files / "uneven.txt"]
    for arguments, told in (
        ([], "At least one of --pos"),
        ([*text, *chunks], "uneven.txt` line 2: expected 3 columns"),
        (["--pos", files / "train.txt", files / "none.txt"], "none.txt"),
        (["--wic", files / "training.data", files / "none.data"], "none.gold"),
        (["--senses", files], "holds no word"),
        ([*text, "--word2vec", "a", "--word-vectors", "b"], "Only one of"),
    ):
        code, _, log = run(*begin, *arguments)
        assert code == 1 and told in log, log
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    code, _, log = run(*begin, *text, "--word2vec", files / "corpus.txt")
    assert code == 1 and "keras-elmo[probe]" in log
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, _, log = run(*begin, *text)
    assert code == 1 and "keras-elmo[plot]" in log
    assert not (files / "out").exists()


def test_probe_trains_word2vec(run, model, files, quick):
    pytest.importorskip("gensim", reason="gensim is not installed")
    code, told, _ = run(
        *("probe", "--model", model, "--output", files / "out", "--json"),
        *("--wic", files / "training.data", files / "test.data"),
        *("--word2vec", files / "corpus.txt", "--word2vec", files / "corpus.txt"),
    )
    assert code == 0
    assert "word2vec average" in json.loads(told)["words_in_context"]["vectors"]


def test_senses_writes_a_page_a_picture_and_projector_files(run, model, files):
    arguments = ["senses", "bank", "--corpus", files / "corpus.txt", "--model", model]
    arguments += ["--output", files / "out", "--clusters", 2]
    code, told, _ = run(*arguments, "--json")
    assert code == 0
    summary = json.loads(told)
    assert (summary["uses"], summary["found"]) == (24, 24)
    assert len(summary["clusters"]) == 2 and sum(summary["clusters"]) == 24
    names = ["projector", "senses.html", "senses.json", "senses.png"]
    assert sorted(path.name for path in (files / "out").iterdir()) == names
    data = json.loads((files / "out" / "senses.json").read_text("utf-8"))
    assert data["layers"] == ["layer 0", "layer 1", "layer 2", "mean"]
    code, told, _ = run(*arguments, "--by", 1, "--overwrite")
    assert code == 0 and "24 uses of bank" in told


def test_senses_says_what_is_wrong(run, model, files):
    begin = ["senses", "--corpus", files / "corpus.txt", "--model", model]
    begin += ["--output", files / "out"]
    for arguments, told in (
        (["shore"], "no sentence holds the token 'shore'"),
        (["bank", "--by", "mix"], "`by` must be"),
        (["bank", "--corpus", files / "none.txt"], "none.txt"),
        (["bank", "--method", "tsne"], "`method` must be"),
    ):
        code, _, log = run(*begin, *arguments)
        assert code == 1 and told in log, log
    assert not (files / "out").exists()
