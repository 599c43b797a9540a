"""Token caches: nothing but speed changes, and none serves a model it is not of."""

import json

import h5py
import numpy as np
import pytest

import keras_elmo
from keras_elmo.inference import Inference
from keras_elmo.text.dictionaries import MARKERS
from tests.models_for_tests import (
    character_backbone,
    dictionaries_backbone,
    word_backbone,
)

SENTENCES = [
    ["The", "bank", "of", "the", "river"],
    [],
    ["unseen", "words", "x" * 40, "x" * 30, "", "\ud800", "café"],
    ["bank"],
]
FREQUENT = ["the", "The", "bank", "x" * 40, "", "\ud800", "the"]


@pytest.fixture(scope="module")
def backbone():
    return character_backbone()


@pytest.fixture(scope="module")
def cache(backbone, tmp_path_factory):
    path = tmp_path_factory.mktemp("cache") / "tokens.h5"
    return keras_elmo.TokenCache.create(path, FREQUENT, backbone)


@pytest.mark.parametrize("layers", ["all", "mix"])
def test_results_are_those_of_the_character_cnn(backbone, cache, layers):
    expected = keras_elmo.embed(SENTENCES, backbone, layers=layers)
    for given in (cache, cache.path, str(cache.path)):
        got = keras_elmo.embed(SENTENCES, backbone, layers=layers, token_cache=given)
        np.testing.assert_allclose(got, expected, atol=1e-6, rtol=0)
    rows = keras_elmo.embed_iter(SENTENCES, backbone, layers, token_cache=cache)
    for row, vectors in zip(rows, expected, strict=True):
        np.testing.assert_allclose(
            row, vectors[..., : row.shape[-2], :], atol=1e-6, rtol=0
        )


@pytest.mark.once
def test_only_unknown_tokens_are_computed(backbone, cache, monkeypatch):
    computed = []
    inference = Inference.of(backbone)
    embed_tokens = inference._embed_tokens

    def spy(tokens):
        computed.extend(tokens)
        return embed_tokens(tokens)

    monkeypatch.setattr(inference, "_embed_tokens", spy)
    keras_elmo.embed([["the", "bank", "sea"], ["sea", "The"]], backbone)
    assert computed == ["the", "bank", "sea", "The", "<S>", "</S>"]
    computed.clear()
    given = {"token_cache": cache}
    keras_elmo.embed([["the", "bank", "sea"], ["sea", "The"]], backbone, **given)
    assert computed == ["sea"]
    computed.clear()
    keras_elmo.embed([["the", "bank"], []], backbone, **given)
    assert computed == []


@pytest.mark.once
def test_a_cache_says_what_it_holds_and_is_mapped(cache):
    assert len(cache) == 8  # six distinct tokens and the two markers
    assert "bank" in cache and "<S>" in cache and "sea" not in cache
    assert repr(cache).endswith("tokens.h5', 8 tokens)")
    assert isinstance(cache._vectors, np.memmap)
    assert type(cache.vectors(["bank"], None)) is np.ndarray


@pytest.mark.once
def test_many_tokens_are_written_in_pieces(backbone, tmp_path, monkeypatch):
    monkeypatch.setattr("keras_elmo.token_cache.CHUNK", 3)
    tokens = [f"token{number}" for number in range(10)]
    cache = keras_elmo.TokenCache.create(tmp_path / "c.h5", tokens, backbone)
    expected = Inference.of(backbone).token_vectors(tokens)[:10]
    np.testing.assert_allclose(cache.vectors(tokens, None), expected, atol=1e-6)


def test_other_weights_are_refused_before_the_first_vector(cache):
    other = character_backbone()
    other.set_weights([w + 0.01 for w in other.get_weights()])
    with pytest.raises(ValueError, match=r"tokens\.h5` was made from other weights"):
        keras_elmo.embed_iter(SENTENCES, other, token_cache=cache)


def test_weights_that_change_are_noticed_at_the_next_call(tmp_path):
    mine = character_backbone()
    cache = keras_elmo.TokenCache.create(tmp_path / "c.h5", FREQUENT, mine)
    keras_elmo.embed(SENTENCES, mine, token_cache=cache)
    before = mine.token_embedder.get_weights()
    # The smallest change there is, of one number.
    after = [weight.copy() for weight in before]
    after[1].flat[3] = np.nextafter(after[1].flat[3], np.float32(9))
    mine.token_embedder.set_weights(after)
    with pytest.raises(ValueError, match="other weights"):
        keras_elmo.embed(SENTENCES, mine, token_cache=cache)
    mine.token_embedder.set_weights(before)
    keras_elmo.embed(SENTENCES, mine, token_cache=cache)
    # The LSTMs' weights are none of the cache's.
    mine.encoder.set_weights([2.0 * w for w in mine.encoder.get_weights()])
    expected = keras_elmo.embed(SENTENCES, mine)
    got = keras_elmo.embed(SENTENCES, mine, token_cache=cache)
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_a_training_step_makes_the_cache_useless(tmp_path):
    mine = character_backbone()
    cache = keras_elmo.TokenCache.create(tmp_path / "c.h5", FREQUENT, mine)
    ids = keras_elmo.text.encode_sentences([["The", "bank"]], 16)
    mine.compile("sgd", loss="mse")
    mine.fit(ids, [np.ones((1, 2, 8), "float32")] * 3, verbose=0)
    with pytest.raises(ValueError, match="after any training of the model"):
        keras_elmo.embed(SENTENCES, mine, token_cache=cache)


@pytest.mark.once
@pytest.mark.parametrize(
    "changes, told",
    [
        ({"max_characters_per_token": 20}, "max_characters_per_token"),
        ({"num_highway_layers": 0}, "num_highway_layers"),
        ({"dtype": "mixed_bfloat16"}, "compute_dtype"),
    ],
)
def test_other_settings_are_named(cache, changes, told):
    with pytest.raises(ValueError, match=rf"Differing: {told} \(the cache's"):
        keras_elmo.embed(
            SENTENCES, character_backbone(**changes), token_cache=cache.path
        )


@pytest.mark.once
def test_a_model_of_words_needs_none(cache, tmp_path):
    with pytest.raises(ValueError, match="for models that read characters"):
        keras_elmo.embed(SENTENCES, word_backbone(), token_cache=cache)
    with pytest.raises(ValueError, match="for models that read characters"):
        keras_elmo.TokenCache.create(tmp_path / "c.h5", ["the"], word_backbone())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.once
def test_what_is_no_cache_is_refused(backbone, tmp_path):
    with pytest.raises(TypeError, match="`token_cache` must be a TokenCache or"):
        keras_elmo.embed(SENTENCES, backbone, token_cache=3)
    with pytest.raises(FileNotFoundError):
        keras_elmo.embed(SENTENCES, backbone, token_cache=tmp_path / "none")
    (tmp_path / "text").write_text("the\n")
    with pytest.raises(ValueError, match="not an HDF5 file"):
        keras_elmo.TokenCache(tmp_path / "text")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["0"] = np.zeros(3)
    with pytest.raises(ValueError, match="is not a token cache"):
        keras_elmo.TokenCache(tmp_path / "other.h5")


@pytest.mark.once
def test_a_model_without_numbers_gives_no_cache(tmp_path):
    broken = character_backbone()
    broken.token_embedder.set_weights(
        [np.full_like(weight, np.nan) for weight in broken.token_embedder.get_weights()]
    )
    with pytest.raises(ValueError, match="no numbers"):
        keras_elmo.TokenCache.create(tmp_path / "c.h5", ["the"], broken)
    assert list(tmp_path.iterdir()) == []


def _replace(file, name, **arguments):
    del file[name]
    file.create_dataset(name, **arguments)


def _describe(file, change):
    description = json.loads(file["description"][()].tobytes())
    change(description)
    data = np.frombuffer(json.dumps(description).encode(), "uint8")
    _replace(file, "description", data=data)


def _link(file):
    del file["vectors"]
    file["vectors"] = h5py.ExternalLink("elsewhere.h5", "vectors")


BREAKS = {
    "one vector a token": lambda f: _replace(
        f, "vectors", data=np.zeros((9, 4), "float32")
    ),
    "must be float32 with 2 axes": lambda f: _replace(
        f, "vectors", data=np.zeros((8, 4), "float64")
    ),
    r"must be float32 with 2 axes.* \(8,\)": lambda f: _replace(
        f, "vectors", data=np.zeros(8, "float32")
    ),
    "in one piece": lambda f: _replace(
        f, "vectors", data=np.zeros((8, 4), "float32"), compression="gzip"
    ),
    r"one piece\.$": lambda f: _replace(  # declared, never written
        f, "vectors", shape=(2**40, 2**10), dtype="float32"
    ),
    "is empty": lambda f: _replace(f, "vectors", shape=(0, 4), dtype="float32"),
    "is a link": _link,
    "must be uint8 with 1 axes": lambda f: _replace(f, "description", data="{}"),
    "not a token cache: Expecting": lambda f: _replace(
        f, "description", data=np.frombuffer(b"{", "uint8")
    ),
    "is not a token cache.$": lambda f: _describe(
        f, lambda d: d.update(format="other")
    ),
    "version 2; this program": lambda f: _describe(
        f, lambda d: d.update(format_version=2)
    ),
    "a list of strings": lambda f: _describe(f, lambda d: d["tokens"].append(3)),
    "7 tokens, 8 vectors": lambda f: _describe(
        f, lambda d: d["tokens"].__setitem__(3, "the")
    ),
    "settings of its model": lambda f: _describe(f, lambda d: d.pop("settings")),
}


@pytest.mark.once
@pytest.mark.parametrize("told", BREAKS)
def test_a_file_is_not_trusted(cache, tmp_path, told):
    path = tmp_path / "broken.h5"
    path.write_bytes(cache.path.read_bytes())
    with h5py.File(path, "r+") as file:
        BREAKS[told](file)
    with pytest.raises(ValueError, match=told):
        keras_elmo.TokenCache(path)


@pytest.mark.once
def test_a_cut_file_and_vectors_that_are_no_numbers(backbone, cache, tmp_path):
    path = tmp_path / "broken.h5"
    content = cache.path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"broken\.h5"):
        keras_elmo.TokenCache(path)
    path.write_bytes(content)
    with h5py.File(path, "r+") as file:
        file["vectors"][3] = np.inf
    with pytest.raises(ValueError, match=r"broken\.h5` holds vectors that are no num"):
        keras_elmo.embed([["The", "the", "bank"]], backbone, token_cache=path)


@pytest.mark.once
@pytest.mark.parametrize("text", ["<S>\n</S>\n<UNK>\nthe\nbank\n", "the\t9\nbank\t3\n"])
def test_the_command_makes_a_cache_that_embed_takes(run, backbone, tmp_path, text):
    backbone.save_to_preset(tmp_path / "preset")
    (tmp_path / "words.txt").write_text(text)
    (tmp_path / "in.txt").write_text("the river\nbank\n")
    made = ("cache-tokens", tmp_path / "preset", "--vocabulary", tmp_path / "words.txt")
    code, out, err = run(*made, "--output", tmp_path / "c.h5", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert told["tokens"] == len(
        set(text.replace("\t", " ").split()) - {"9", "3"} | {"<S>", "</S>"}
    )
    assert told["bytes"] == (tmp_path / "c.h5").stat().st_size
    code, _, err = run(*made, "--output", tmp_path / "c.h5")
    assert code == 1 and "--overwrite" in err
    some = (*made, "--output", tmp_path / "c.h5", "--size", 1, "--overwrite")
    assert run(*some)[0] == 0
    embed = ("embed", tmp_path / "in.txt", "--model", tmp_path / "preset", "--output")
    assert run(*embed, tmp_path / "plain.npz")[0] == 0
    with_cache = ("--token-cache", tmp_path / "c.h5")
    assert run(*embed, tmp_path / "cached.npz", *with_cache)[0] == 0
    with (
        np.load(tmp_path / "plain.npz") as plain,
        np.load(tmp_path / "cached.npz") as cached,
    ):
        assert set(plain) == set(cached)
        for name in ("0", "1"):
            np.testing.assert_allclose(cached[name], plain[name], atol=1e-6)
    code, _, err = run(*embed, tmp_path / "x.npz", "--token-cache", tmp_path / "in.txt")
    assert code == 1 and "in.txt` is not an HDF5 file" in err
    assert not (tmp_path / "x.npz").exists()


@pytest.mark.once
def test_a_cache_of_dictionaries_knows_them(tmp_path):
    entries = ["<oov>", "<pad>", *MARKERS, "<bow>", "<eow>", "a", "b"]
    rows = {entry: row for row, entry in enumerate(entries)}
    mine = dictionaries_backbone(rows)
    cache = keras_elmo.TokenCache.create(tmp_path / "c.h5", ["ab"], mine)
    assert len(cache) == 3 and set(MARKERS) <= set(cache._row)
    sentences = [["ab", "ba"], ["ab"]]
    expected = keras_elmo.embed(sentences, mine, layers="all")
    got = keras_elmo.embed(sentences, mine, layers="all", token_cache=cache)
    np.testing.assert_allclose(got, expected, atol=1e-6)
    swapped = {**rows, "a": rows["b"], "b": rows["a"]}
    mine.vocabulary = keras_elmo.text.Dictionaries(characters=swapped)
    with pytest.raises(ValueError, match="other weights"):
        keras_elmo.embed(sentences, mine, token_cache=cache)
