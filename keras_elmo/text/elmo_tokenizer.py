"""Text to tokens to the ids a model reads."""

import numpy as np

from keras_elmo import checks
from keras_elmo.text.characters import encode_sentences, encode_tokens
from keras_elmo.text.tokenizers import get_tokenizer
from keras_elmo.text.vocabulary import Vocabulary


class ElmoTokenizer:
    """Splits text into tokens and turns tokens into a model's ids.

    Args:
        splitter: "whitespace" or "unicode", how text is split into tokens.
        input_kind: "characters" or "words", what the model reads.
        max_characters_per_token: int, character ids a token (C).
        vocabulary: `Vocabulary`; needed to make ids for word input.

    Raises:
        ValueError: when an argument is none of these, or when ids of words are asked
            for without a vocabulary.

    Example:
    ```python
    tokenizer = keras_elmo.ElmoTokenizer(max_characters_per_token=16)
    tokens = tokenizer("The bank .")  # ["The", "bank", "."]
    ids = tokenizer.encode_sentences([tokens])  # (1, 3, 16)
    ```
    """

    def __init__(
        self,
        splitter="whitespace",
        input_kind="characters",
        max_characters_per_token=50,
        vocabulary: Vocabulary | None = None,
    ):
        self._split = get_tokenizer(splitter)
        if input_kind not in ("characters", "words"):
            raise ValueError(
                checks.received("input_kind", input_kind, '"characters" or "words"')
            )
        self.splitter = splitter
        self.input_kind = input_kind
        self.max_characters_per_token = checks.positive_int(
            "max_characters_per_token", max_characters_per_token, minimum=3
        )
        self.vocabulary = vocabulary

    @classmethod
    def of(cls, backbone, splitter="whitespace"):
        """The tokenizer that makes the ids an `ElmoBackbone` reads."""
        return cls(
            splitter,
            input_kind=backbone.input_kind,
            max_characters_per_token=backbone.max_characters_per_token,
            vocabulary=backbone.vocabulary,
        )

    @classmethod
    def from_preset(cls, preset):
        """The tokenizer of a preset directory.

        Args:
            preset: what `ElmoBackbone.from_preset` takes.

        Raises:
            ValueError: when its tokenizer.json does not hold what it should.
        """
        from keras_elmo.presets import load_tokenizer

        return load_tokenizer(preset)

    def __call__(self, text: str) -> list[str]:
        return self._split(text)

    def encode_tokens(self, tokens: list[str]) -> np.ndarray:
        """Ids of tokens: int32, (tokens, C) for characters, (tokens,) for words."""
        if self.input_kind == "characters":
            return encode_tokens(tokens, self.max_characters_per_token)
        return self.words().ids(tokens)

    def encode_sentences(self, sentences) -> np.ndarray:
        """Ids of sentences, padded with 0: int32, (batch, T, C) or (batch, T)."""
        if self.input_kind == "characters":
            return encode_sentences(sentences, self.max_characters_per_token)
        rows = [self.words().ids(sentence) for sentence in sentences]
        ids = np.zeros((len(rows), max(map(len, rows), default=0)), "int32")
        for i, row in enumerate(rows):
            ids[i, : len(row)] = row
        return ids

    def words(self) -> Vocabulary:
        """The vocabulary, or an error that says where it comes from."""
        if self.vocabulary is None:
            raise ValueError(
                "A model of word input needs its vocabulary to turn tokens into ids: "
                "load it with `vocabulary=`, or set `backbone.vocabulary`."
            )
        return self.vocabulary

    def get_config(self) -> dict:
        """What `__init__` takes, without the vocabulary, which is a file of its own."""
        return {
            "splitter": self.splitter,
            "input_kind": self.input_kind,
            "max_characters_per_token": self.max_characters_per_token,
        }
