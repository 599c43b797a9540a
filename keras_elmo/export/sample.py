"""A few sentences' ids, to see what an exported graph makes of them."""

import numpy as np

from keras_elmo.text.elmo_tokenizer import ElmoTokenizer

SENTENCES = (
    "",
    "The bank of the river was steep , and the boat could not land there .",
    "She opened an account at the bank in 2018 .",
    "Zürich , São Paulo , 東京 and Москва are cities ; “ naïve ” is a word .",
    "Stop !",
    "Antidisestablishmentarianism is , they say , the longest word in English text .",
)


def sample_ids(model, batch=None, time=None):
    """int32 ids of a biLM, sentences of several lengths padded with 0.

    A model whose vocabulary may not be known gets random ids.

    Args:
        model: `ElmoBackbone`.
        batch: int, the number of rows, or None for that of the sentences.
        time: int, the number of tokens, or None for that of the longest sentence.
    """
    rows = [sentence.split() for sentence in SENTENCES]
    if model.input_kind == "characters":
        ids = ElmoTokenizer.of(model).encode_sentences(rows)
    else:
        random = np.random.default_rng(0)
        shape = (len(rows), max(map(len, rows)), *model.inputs[0].shape[2:])
        ids = np.zeros(shape, "int32")
        for _, index, limit in model._id_limits():
            ids[index] = random.integers(1, limit, ids[index].shape)
        for i, row in enumerate(rows):
            ids[i, len(row) :] = 0
    # Longest first, so that a batch of one is no empty sentence.
    ids = ids[np.argsort([-len(row) for row in rows], kind="stable")]
    sizes = [batch or ids.shape[0], time or ids.shape[1]]
    fitted = np.zeros((*sizes, *ids.shape[2:]), "int32")
    part = ids[: sizes[0], : sizes[1]]
    fitted[: part.shape[0], : part.shape[1]] = part
    return fitted
