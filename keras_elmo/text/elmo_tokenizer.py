"""Text to tokens to the ids a model reads."""

import numpy as np

from keras_elmo import checks
from keras_elmo.text import characters, dictionaries
from keras_elmo.text.dictionaries import Dictionaries
from keras_elmo.text.tokenizers import get_tokenizer
from keras_elmo.text.vocabulary import Vocabulary

# What a model reads. The dictionaries are ELMoForManyLangs'.
INPUT_KINDS = (
    "characters",
    "words",
    "dictionary_characters",
    "dictionary_words",
    "dictionary_words_and_characters",
)


class ElmoTokenizer:
    """Splits text into tokens and turns tokens into a model's ids.

    Args:
        splitter: "whitespace" or "unicode", how text is split into tokens.
        input_kind: what the model reads: "characters" (UTF-8 bytes) or "words"; or
            ELMoForManyLangs' "dictionary_characters" (code points),
            "dictionary_words" or "dictionary_words_and_characters".
        max_characters_per_token: int, character ids a token (C).
        vocabulary: `Vocabulary`, needed to make ids for word input, or `Dictionaries`.

    Raises:
        ValueError: when an argument is none of these, or when ids are asked for
            without the vocabulary they come from.

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
        vocabulary: Vocabulary | Dictionaries | None = None,
    ):
        self._split = get_tokenizer(splitter)
        self.splitter = splitter
        self.input_kind = checks.one_of("input_kind", input_kind, INPUT_KINDS)
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

    @property
    def ids_width(self) -> int | None:
        """Ids a token, or None where a token is one id."""
        return ids_width(self.input_kind, self.max_characters_per_token)

    @property
    def markers(self) -> tuple[str, str]:
        """The tokens that stand before and behind each sentence."""
        if self.input_kind in ("characters", "words"):
            return characters.BEGIN_SENTENCE, characters.END_SENTENCE
        return dictionaries.MARKERS

    def encode_tokens(self, tokens: list[str]) -> np.ndarray:
        """Ids of tokens: int32, (tokens, `ids_width`), or (tokens,) if it is None."""
        if self.input_kind == "characters":
            return characters.encode_tokens(tokens, self.max_characters_per_token)
        if self.input_kind == "words":
            return self.words().ids(tokens)
        return self.dictionaries().encode_tokens(tokens, self.max_characters_per_token)

    def encode_sentences(self, sentences) -> np.ndarray:
        """Ids of sentences: int32, (batch, T, ...) of `encode_tokens`, 0 behind."""
        return characters.pad_sentences(sentences, self.encode_tokens)

    def count_truncated(self, tokens) -> int:
        """Number of tokens that are longer than the model reads."""
        if self.input_kind == "characters":
            return characters.count_truncated(tokens, self.max_characters_per_token)
        if self.input_kind == "words":
            return 0
        limit = self.max_characters_per_token - 2
        return sum(len(token) > limit and token not in self.markers for token in tokens)

    def words(self) -> Vocabulary:
        """The vocabulary, or an error that says where it comes from."""
        if not isinstance(self.vocabulary, Vocabulary):
            raise ValueError(
                "A model of word input needs its vocabulary to turn tokens into ids: "
                "load it with `vocabulary=`, or set `backbone.vocabulary`."
            )
        return self.vocabulary

    def dictionaries(self) -> Dictionaries:
        """The dictionaries, or an error that says where they come from."""
        if not isinstance(self.vocabulary, Dictionaries):
            raise ValueError(
                "A model of ELMoForManyLangs needs its `Dictionaries` to turn tokens "
                "into ids: load it from its preset, or set `backbone.vocabulary`."
            )
        return self.vocabulary

    def get_config(self) -> dict:
        """What `__init__` takes, without the vocabulary, which is a file of its own."""
        return {
            "splitter": self.splitter,
            "input_kind": self.input_kind,
            "max_characters_per_token": self.max_characters_per_token,
        }


def ids_width(input_kind: str, max_characters_per_token: int) -> int | None:
    """Ids a token, or None where a token is one id.

    Args:
        input_kind: one of `INPUT_KINDS`.
        max_characters_per_token: int (C).
    """
    if input_kind in ("words", "dictionary_words"):
        return None
    has_word = input_kind == "dictionary_words_and_characters"
    return max_characters_per_token + has_word
