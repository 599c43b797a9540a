"""Pictures of mix weights: what is drawn, which files, which models."""

import sys

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.tasks.command import plot_mix
from keras_elmo.tasks.plot_mix import draw_mixes
from tests.models_for_tests import CHARACTERS, character_backbone

matplotlib_figure = pytest.importorskip("matplotlib.figure")
colors = pytest.importorskip("matplotlib.colors")
image = pytest.importorskip("matplotlib.image")

pytestmark = pytest.mark.once

MIXES = {
    "elmo 1": {"weights": [0.5, 0.3, 0.2], "gamma": 1.25},
    "elmo 2": {"weights": [0.1, 0.1, 0.8], "gamma": 0.5},
}


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were saved, in order; the files are made as well."""
    figures = []
    save = matplotlib_figure.Figure.savefig

    def savefig(figure, *arguments, **options):
        figures.append(figure)
        return save(figure, *arguments, **options)

    monkeypatch.setattr(matplotlib_figure.Figure, "savefig", savefig)
    return figures


def bars(figure):
    """The bars of each layer: a list of [(place of the middle, height)] a layer."""
    (axes,) = figure.axes
    return [
        [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in group]
        for group in axes.containers
    ]


def test_each_layer_of_each_mix_has_a_bar(drawn, tmp_path):
    draw_mixes(MIXES, tmp_path / "mix.png")
    (figure,) = drawn
    groups = bars(figure)
    heights = [[height for _, height in group] for group in groups]
    np.testing.assert_allclose(heights, [[0.5, 0.1], [0.3, 0.1], [0.2, 0.8]])
    # A mix's bars stand around its label, in the layers' order, none over another.
    places = np.array([[place for place, _ in group] for group in groups])
    np.testing.assert_allclose(places.mean(axis=0), [0, 1], atol=1e-9)
    (axes,) = figure.axes
    width = axes.containers[0][0].get_width()
    assert (np.diff(places, axis=0) > width).all()
    assert places[0, 1] - places[-1, 0] > width
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert [text.split("\n")[0] for text in labels] == ["elmo 1", "elmo 2"]
    assert ["1.25" in text for text in labels] == [True, False]
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["token vector", "layer 1", "layer 2"]
    # Every bar and the number above it are inside the axes.
    assert axes.get_ylim()[0] == 0 and axes.get_ylim()[1] > 0.8 * 1.1
    assert sorted(text.get_text() for text in axes.texts) == sorted(
        ["0.50", "0.10", "0.30", "0.10", "0.20", "0.80"]
    )


def test_the_png_is_a_picture_of_its_bars(tmp_path):
    path = tmp_path / "mix.png"
    draw_mixes(MIXES, path)
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    pixels = image.imread(path)[..., :3]
    height, width, _ = pixels.shape
    assert width > 600 and height > 300
    # The three colours, each over an area like its bars' heights (0.6, 0.4, 1.0).
    areas = []
    for name in ("#9aa5ab", "#1f6f8b", "#c8553d"):
        areas.append((np.abs(pixels - colors.to_rgb(name)).max(axis=-1) < 0.01).sum())
    # 5 percent: edges, and the legend's squares.
    np.testing.assert_allclose(np.array(areas) / areas[2], [0.6, 0.4, 1.0], atol=0.05)
    assert (pixels > 0.99).all(axis=-1).mean() > 0.4  # the rest is paper


def test_mixes_of_other_numbers_of_layers_share_a_picture(drawn, tmp_path):
    mixes = {
        "one": {"weights": [1.0], "gamma": 1.0},
        "six": {"weights": [0.1, 0.1, 0.2, 0.2, 0.2, 0.2], "gamma": -1.0},
    }
    draw_mixes(mixes, tmp_path / "mix.png")
    heights = [[height for _, height in group] for group in bars(drawn[0])]
    assert len(heights) == 6 and [one for one, _ in heights] == [1.0, *[0.0] * 5]


def test_many_layers_have_colors_of_their_own_and_a_legend_inside(drawn, tmp_path):
    draw_mixes({"eight": {"weights": [0.125] * 8, "gamma": 1.0}}, tmp_path / "mix.png")
    (figure,) = drawn
    (axes,) = figure.axes
    assert len({group[0].get_facecolor() for group in axes.containers}) == 8
    (legend,) = figure.legends
    frame, paper = legend.get_window_extent(), figure.bbox
    assert frame.x0 >= paper.x0 and frame.x1 <= paper.x1 and frame.y1 <= paper.y1


def test_no_window_system_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    draw_mixes(MIXES, tmp_path / "mix.png")


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'keras-elmo\[plot\]'"):
        draw_mixes(MIXES, tmp_path / "mix.png")


def elmo(name, backbone=None, **options):
    return keras_elmo.ElmoEmbedding(
        backbone or character_backbone(), name=name, **options
    )


def model_of(*layers):
    """A plain Keras model of some embeddings, side by side."""
    ids = keras.Input((None, CHARACTERS), dtype="int32")
    vectors = [y for layer in layers for y in keras.tree.flatten(layer(ids))]
    vectors = vectors if len(vectors) == 1 else [keras.layers.Concatenate()(vectors)]
    return keras.Model(ids, keras.layers.Dense(2)(vectors[0]))


def save(model, folder):
    path = folder / "model.keras"
    model.save(path)
    return path


def test_every_mix_of_a_model_is_drawn(drawn, tmp_path):
    start = {"initial_mix_weights": [0.2, 0.7, 0.1]}
    backbone = character_backbone()
    layers = [
        elmo("two", backbone, num_mixes=2, **start),
        elmo("top", backbone, layers="top"),
    ]
    path = save(model_of(*layers), tmp_path)
    told = plot_mix(path, tmp_path / "mix.png")
    assert list(told) == ["two 1", "two 2", "top"]
    for name in ("two 1", "two 2"):
        assert told[name]["weights"] == pytest.approx([0.2, 0.7, 0.1], abs=1e-6)
        assert told[name]["gamma"] == 1.0
    assert told["top"]["weights"] == [0.0, 0.0, 1.0]
    heights = np.array([[height for _, height in group] for group in bars(drawn[0])])
    expected = np.array([mix["weights"] for mix in told.values()])
    np.testing.assert_allclose(heights.T, expected)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mix.png", "model.keras"]


def test_models_inside_a_model_are_looked_into(drawn, tmp_path):
    def part(weights):
        layer = elmo("elmo", initial_mix_weights=weights)
        ids = keras.Input((None, CHARACTERS), dtype="int32")
        return keras.Model(ids, layer(ids))

    one, other = part([1.0, 0.0, 0.0]), part([0.0, 0.0, 1.0])
    ids = keras.Input((None, CHARACTERS), dtype="int32")
    outer = keras.Model(ids, keras.layers.Concatenate()([one(ids), other(ids)]))
    told = plot_mix(save(outer, tmp_path), tmp_path / "mix.png")
    # Two layers of one name are two mixes.
    assert [np.argmax(mix["weights"]) for mix in told.values()] == [0, 2]
    assert [len(group) for group in bars(drawn[0])] == [2, 2, 2]


@pytest.mark.parametrize(
    "name, begins",
    [("mix.pdf", b"%PDF"), ("mix.svg", b"<?xml"), ("mix.PNG", b"\x89PNG")],
)
def test_the_suffix_says_which_kind(name, begins, tmp_path):
    path = save(model_of(elmo("elmo")), tmp_path)
    plot_mix(path, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begins)


@pytest.mark.parametrize("name", ["mix", "mix.txt", "mix.png.bak", ".png"])
def test_another_suffix_is_refused_and_leaves_nothing(name, tmp_path):
    path = save(model_of(elmo("elmo")), tmp_path)
    with pytest.raises(ValueError, match=r"\.png, \.svg, \.pdf"):
        plot_mix(path, tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == ["model.keras"]


def test_a_model_without_a_mix_has_no_picture(tmp_path):
    ids = keras.Input((3,))
    plain = keras.Model(ids, keras.layers.Dense(2)(ids))
    ids = keras.Input((None, CHARACTERS), dtype="int32")
    every = keras.Model(ids, elmo("elmo", layers="all")(ids))
    for model in (plain, every):
        path = save(model, tmp_path)
        with pytest.raises(ValueError, match="holds no mix"):
            plot_mix(path, tmp_path / "mix.png")
    assert [p.name for p in tmp_path.iterdir()] == ["model.keras"]


def test_what_exists_is_kept_unless_told(tmp_path):
    path, output = save(model_of(elmo("elmo")), tmp_path), tmp_path / "mix.png"
    output.write_text("mine")
    with pytest.raises(FileExistsError, match="--overwrite"):
        plot_mix(path, output)
    assert output.read_text() == "mine"
    plot_mix(path, output, overwrite=True)
    assert output.read_bytes().startswith(b"\x89PNG")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mix.png", "model.keras"]
