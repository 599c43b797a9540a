"""What is told of a word's uses, and the files of it."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from keras_elmo.evaluation.projector import write_projector
from keras_elmo.evaluation.senses import find_senses
from keras_elmo.evaluation.senses_page import page_data, write_page
from keras_elmo.evaluation.senses_picture import draw_senses
from keras_elmo.evaluation.token_layers import TokenLayers
from tests.evaluation.word_files import strong_backbone, write_corpus

pytestmark = pytest.mark.once
# What would leave its place in a page, a table or a picture.
HOSTILE = [
    "</script><script>window.hacked=1</script> bank",
    "<img src=x onerror=window.hacked=1> bank",
    "{{data}} {{title}} bank \u2028 x",
    "$x_{ bank $ \\frac ' \" & &lt;",
    "银行 بنك bank \x07 \u202e reversed",
]


@pytest.fixture(scope="module")
def layers():
    return TokenLayers(strong_backbone())


@pytest.fixture(scope="module")
def senses(layers, tmp_path_factory):
    path = write_corpus(tmp_path_factory.mktemp("corpus") / "corpus.txt")
    path.write_text(path.read_text() + "\n".join(HOSTILE) + "\n", encoding="utf-8")
    return find_senses("bank", [path], layers, clusters=3)


def test_neighbours_are_the_nearest_other_uses(senses):
    number = len(senses.uses)
    assert number == senses.found == 29
    assert senses.layer_names == ["layer 0", "layer 1", "layer 2", "mean"]
    assert senses.neighbors.shape == senses.cosines.shape == (4, number, 5)
    for layer in (1, 3):
        vectors = senses.vectors[:, layer]
        lengths = np.linalg.norm(vectors, axis=1)
        table = vectors @ vectors.T / lengths / lengths[:, None]
        np.fill_diagonal(table, -np.inf)
        best = np.sort(table, axis=1)[:, ::-1][:, :5]
        np.testing.assert_allclose(senses.cosines[layer], best, atol=1e-5)
        rows = np.arange(number)[:, None]
        told = table[rows, senses.neighbors[layer]]
        np.testing.assert_allclose(told, best, atol=1e-5)
    mean = senses.vectors[:, :3].mean(axis=1)
    np.testing.assert_allclose(senses.vectors[:, 3], mean, atol=1e-6)
    # The token vector of a word does not know its sentence.
    assert not senses.points[0].any() and senses.points[1].any()


def test_clusters_have_typical_uses_and_telling_words(senses):
    typical = senses.typical(2)
    assert [len(rows) for rows in typical] == [2, 2, 2]
    for number, rows in enumerate(typical):
        assert (senses.clusters[rows] == number).all()
    words = senses.telling_words()
    assert len(words) == 3 and all(len(row) <= 4 for row in words)
    told = {word for row in words for word in row}
    assert told and told <= {"the", "of", "a", "river", "money", "in", "on"} | {
        *("lends", "loan", "muddy", "has")
    }
    # By the share of the sentences that have them.
    senses.clusters[:], kept = 0, senses.clusters.copy()
    assert senses.telling_words() == [[]]
    senses.clusters[:] = kept


@pytest.mark.parametrize(("by", "name"), [("mean", "mean"), (1, "layer 1")])
def test_clusters_are_of_the_layer_that_is_asked_for(layers, tmp_path, by, name):
    path = write_corpus(tmp_path / "corpus.txt")
    assert find_senses("bank", [path], layers, by=by).clustered_by == name


def test_other_layers_are_refused(layers, tmp_path):
    path = write_corpus(tmp_path / "corpus.txt")
    for by in ("mix", 3, True):
        with pytest.raises(ValueError, match="`by` must be"):
            find_senses("bank", [path], layers, by=by)


def test_one_use_is_enough_for_every_file(layers, tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("a bank")
    senses = find_senses("bank", [path], layers)
    assert senses.neighbors.shape == (4, 1, 0)
    draw_senses(senses, tmp_path / "senses.png")
    write_page(senses, tmp_path / "senses.html")
    write_projector(senses, tmp_path / "projector")


def test_the_page_holds_its_sentences_as_data_alone(senses, tmp_path):
    write_page(senses, tmp_path / "senses.html")
    page = (tmp_path / "senses.html").read_text(encoding="utf-8")
    # Two blocks, as the template has them, whatever the sentences hold.
    assert len(re.findall("<script", page)) == 2 == page.count("</script>")
    assert "<img" not in page and "\u2028" not in page
    assert "{{" not in page.replace('"{{data}} {{title}}', "")
    data = re.search(r'type="application/json">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(data) == json.loads(json.dumps(page_data(senses)))
    texts = [" ".join(filter(None, use["text"])) for use in json.loads(data)["uses"]]
    assert texts[-5:-3] == HOSTILE[:2]
    # Nothing is fetched, and no script runs but the page's own.
    assert not re.search(r"(src|href)\s*=", page.replace("src=x", ""))
    assert "http" not in page.replace('http-equiv="', "").replace(
        "http://www.w3.org/2000/svg", ""
    )
    assert "default-src 'none'; script-src 'sha256-" in page


def test_the_picture_shows_a_panel_a_layer_and_the_sentences(senses, tmp_path):
    matplotlib_figure = pytest.importorskip("matplotlib.figure")
    texts, save = [], matplotlib_figure.Figure.savefig

    def savefig(figure, *arguments, **options):
        texts.extend(text.get_text() for text in figure.texts)
        texts.extend(axes.get_title() for axes in figure.axes)
        (points, *_) = figure.axes[1].collections
        np.testing.assert_allclose(points.get_offsets(), senses.points[1])
        return save(figure, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matplotlib_figure.Figure, "savefig", savefig)
        draw_senses(senses, tmp_path / "senses.png")
    assert {"layer 0", "layer 1", "layer 2, clusters", "mean"} <= set(texts)
    assert "29 uses of “bank”" in texts and texts.count("bank") == 9
    assert (tmp_path / "senses.png").read_bytes().startswith(b"\x89PNG")


def test_tensorboard_reads_the_projector_files(senses, tmp_path):
    write_projector(senses, tmp_path / "projector")
    folder = tmp_path / "projector"
    metadata = (folder / "metadata.tsv").read_text("utf-8").split("\n")
    assert metadata[0] == "sentence\tcluster\tline" and metadata[-1] == ""
    assert len(metadata) == 1 + 29 + 1
    assert all(row.count("\t") == 2 for row in metadata[:-1])
    for i, name in enumerate(("layer_0", "layer_1", "layer_2", "mean")):
        vectors = np.loadtxt(folder / f"{name}.tsv", delimiter="\t")
        np.testing.assert_allclose(vectors, senses.vectors[:, i], rtol=1e-4, atol=1e-6)
    program = """
import sys
from google.protobuf import text_format
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
config = text_format.Parse(open(sys.argv[1]).read(), ProjectorConfig())
print([(e.tensor_name, e.tensor_path, e.metadata_path) for e in config.embeddings])
"""
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    # In a process of its own: its imports warn.
    done = subprocess.run(
        [sys.executable, "-c", program, folder / "projector_config.pbtxt"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert eval(done.stdout)[1] == ("layer 1", "layer_1.tsv", "metadata.tsv")
    assert len(eval(done.stdout)) == 4
