"""ELMoForManyLangs: its own vectors of the models beside them."""

import numpy as np
import pytest

import keras_elmo
from keras_elmo.checkpoints import many_langs
from keras_elmo.text import ElmoTokenizer
from tests.golden.support import load, read_json
from tests.helpers import to_arrays

# golden/efml/README.md.
TOLERANCE = {"atol": 2e-5, "rtol": 1e-5}


def folders(golden):
    """The models that are there, never none."""
    found = sorted(path.parent for path in golden.glob("efml/*/expected.npz"))
    assert found
    return found


@pytest.fixture(scope="module")
def sentences(golden):
    return read_json(golden / "efml" / "sentences.json")


def test_every_golden_model(golden, sentences):
    for folder in folders(golden):
        backbone = many_langs.backbone_from_directory(folder)
        stored = load(folder / "expected.npz")
        vectors = keras_elmo.embed(sentences, backbone, layers="all")
        is_lstm = backbone.encoder_kind == "lstm"
        assert vectors.shape[1] == (1 if is_lstm else backbone.num_layers + 1)
        for number, tokens in enumerate(sentences):
            # The "lstm" encoder reads its padding in the original, alone it has none.
            expected = stored[f"alone/{number}"]
            expected = expected[None] if is_lstm else expected
            found, rest = np.split(vectors[number], [len(tokens)], axis=1)
            np.testing.assert_allclose(
                found, expected, **TOLERANCE, err_msg=f"{folder.name} {number}"
            )
            np.testing.assert_array_equal(rest, 0)


def test_each_choice_of_layers_is_the_programs(golden, sentences):
    """Its -1 is the mean, its 0, 1, 2 one layer."""
    folder = golden / "efml" / "word_char"
    backbone = many_langs.backbone_from_directory(folder)
    stored = load(folder / "expected.npz")
    for ours, theirs in (("mean", -1), ("mix", -1), (0, 0), (1, 1), ("top", 2)):
        vectors = keras_elmo.embed(sentences, backbone, layers=ours)
        for number, tokens in enumerate(sentences):
            if tokens:
                np.testing.assert_allclose(
                    vectors[number, : len(tokens)],
                    stored[f"one_batch/layer{theirs}/{number}"],
                    **TOLERANCE,
                )


def test_ids_are_the_programs(golden, sentences):
    for folder in folders(golden):
        backbone = many_langs.backbone_from_directory(folder)
        stored = load(folder / "expected.npz")
        tokenizer = ElmoTokenizer.of(backbone)
        begin, end = tokenizer.markers
        ids = tokenizer.encode_sentences([[begin, *s, end] for s in sentences])
        parts = []
        if backbone.vocabulary_size is not None:
            parts.append(stored["ids/word"][..., None])
        if backbone.num_characters is not None:
            parts.append(stored["ids/char"])
        expected = np.concatenate(parts, axis=-1) + 1
        mask = stored["ids/mask"].astype(bool)
        np.testing.assert_array_equal(ids.reshape(expected.shape)[mask], expected[mask])
        assert not ids[~mask].any()


def test_the_state_that_the_program_keeps_from_call_to_call(golden, sentences):
    """Ours keeps none; given by hand, its second call comes out."""
    folder = golden / "efml" / "char"
    backbone = many_langs.backbone_from_directory(folder)
    stored = load(folder / "expected.npz")
    tokenizer = ElmoTokenizer.of(backbone)
    begin, end = tokenizer.markers
    order = sorted(range(len(sentences)), key=lambda n: -len(sentences[n]))
    ids = tokenizer.encode_sentences([[begin, *sentences[n], end] for n in order])
    vectors = backbone.token_embedder(ids)
    mask = backbone.token_embedder.compute_mask(ids)
    state = None
    for call in (0, 1):
        layers, state = backbone.encoder(
            vectors, mask=mask, initial_state=state, return_state=True
        )
        for row, number in enumerate(order):
            length = len(sentences[number]) + 2
            found = np.stack([layer[row] for layer in to_arrays(layers)])
            np.testing.assert_allclose(
                found[:, 1 : length - 1], stored[f"calls/{call}/{number}"], **TOLERANCE
            )
