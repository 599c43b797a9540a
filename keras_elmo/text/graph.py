"""Tokenizers and character ids as TensorFlow ops, for `tf.data` and serving.

Equal to `keras_elmo.text.tokenizers` and `keras_elmo.text.characters`, which are the
reference. White space and character ids need TensorFlow's own ops only, so that any
TensorFlow runtime loads a graph of them; the Unicode tokenizer needs TF Text's.
"""

try:
    import tensorflow as tf
except ImportError as error:
    raise ImportError(
        "keras_elmo.text.graph needs TensorFlow: pip install 'keras-elmo[tensorflow]'."
    ) from error

from keras_elmo import checks
from keras_elmo.text.characters import (
    BEGIN_SENTENCE,
    BEGIN_WORD_ID,
    END_SENTENCE,
    END_WORD_ID,
    PAD_CHARACTER_ID,
    PADDING_ID,
    encode_tokens,
)
from keras_elmo.text.dictionaries import (
    BEGIN_WORD,
    END_WORD,
    MARKERS,
    PADDING,
    UNKNOWN,
)
from keras_elmo.text.tokenizers import IDEOGRAPHS

# What `str.split` splits at; RE2's \s is ASCII's only.
_SPACE = (
    r"\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}"
    r"\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
)
_IDEOGRAPH = "".join(rf"\x{{{low:x}}}-\x{{{high:x}}}" for low, high in IDEOGRAPHS)
# RE2 looks neither ahead nor behind, so the joining marks are part of what they join:
# a digit with the ".5" and ",000" that follow it, or another character of a word.
_UNIT = r"(?:\p{Nd}(?:[.,]\p{Nd})*|[\p{L}\p{M}\p{Nl}\p{No}_])"
_WORD = rf"{_UNIT}(?:['\x{{2019}}]?{_UNIT})*"


def whitespace_tokenize(strings):
    """Splits at Unicode white space, as `str.split()`.

    Args:
        strings: string, (batch,), UTF-8.

    Returns:
        tf.RaggedTensor of strings, (batch, None).
    """
    return tf.strings.split(tf.strings.regex_replace(strings, f"[{_SPACE}]+", " "))


def unicode_tokenize(strings):
    """Words, numbers, ideographs and single marks; see `tokenizers.unicode_tokenize`.

    Args:
        strings: string, (batch,), UTF-8.

    Returns:
        tf.RaggedTensor of strings, (batch, None).

    Raises:
        ImportError: when TF Text is not installed.
    """
    return unicode_tokenize_with_offsets(strings)[0]


def unicode_tokenize_with_offsets(strings):
    """As `unicode_tokenize`, and where each token stands.

    Args:
        strings: string, (batch,), UTF-8.

    Returns:
        tf.RaggedTensors (batch, None): tokens, the byte each begins at and the byte it
        ends before; and the strings these are bytes of: those that came in with white
        space on both sides of every ideograph, and in place of NUL.

    Raises:
        ImportError: when TF Text is not installed.
    """
    try:
        import tensorflow_text
    except ImportError as error:
        raise ImportError(
            "The Unicode tokenizer in a graph needs TF Text: "
            "pip install 'keras-elmo[tensorflow]'."
        ) from error
    # TF Text takes NUL for the end of a text.
    apart = tf.strings.regex_replace(strings, r"\x00", " ")
    # Ideographs are letters too: set apart, none can be part of a longer word.
    apart = tf.strings.regex_replace(apart, f"([{_IDEOGRAPH}])", r" \1 ")
    # Every token is a "delimiter" that is kept; white space is one that is not.
    tokens, begins, ends = tensorflow_text.regex_split_with_offsets(
        apart,
        delim_regex_pattern=rf"{_WORD}|[{_SPACE}]+|[^{_SPACE}]",
        keep_delim_regex_pattern=rf"{_WORD}|[^{_SPACE}]",
    )
    return tokens, begins, ends, apart


def character_ids(tokens, max_characters_per_token=50, lengths=None):
    """Character ids of tokens, as `characters.encode_sentences`.

    Args:
        tokens: string, tf.RaggedTensor (batch, None), or dense (batch, T) with
            `lengths`.
        max_characters_per_token: int of at least 3 (C).
        lengths: int, (batch,), tokens of each row of dense `tokens`.

    Returns:
        int32, (batch, T, C); 0 behind each row's tokens.
    """
    width = checks.positive_int(
        "max_characters_per_token", max_characters_per_token, minimum=3
    )
    if isinstance(tokens, tf.RaggedTensor):
        ids = tokens.with_values(_encode(tokens.values, width))
        return ids.to_tensor(PADDING_ID, shape=(None, None, width))
    if lengths is None:
        raise ValueError(
            "`lengths` must be given for dense tokens: the empty string is a token."
        )
    shape = tf.shape(tokens)
    ids = _encode(tf.reshape(tokens, [-1]), width)
    ids = tf.reshape(ids, [shape[0], shape[1], width])
    is_token = tf.sequence_mask(lengths, shape[1])
    return tf.where(is_token[..., None], ids, PADDING_ID)


def _encode(tokens, width):
    """`characters.encode_tokens`: (tokens,) strings to (tokens, C) int32."""
    size = tf.minimum(tf.strings.length(tokens), width - 2)[:, None]
    bytes_ = tf.io.decode_raw(tokens, tf.uint8, fixed_length=width - 2)
    bytes_ = tf.pad(tf.cast(bytes_, tf.int32) + 1, [[0, 0], [1, 1]])
    columns = tf.range(width)[None]
    ids = tf.where(columns <= size, bytes_, PAD_CHARACTER_ID)
    ids = tf.where(columns == size + 1, END_WORD_ID, ids)
    ids = tf.where(columns == 0, BEGIN_WORD_ID, ids)
    markers = (BEGIN_SENTENCE, END_SENTENCE)
    for marker, row in zip(markers, encode_tokens(markers, width), strict=True):
        ids = tf.where((tokens == marker)[:, None], row[None], ids)
    return ids


def rows_of(tokens, lengths):
    """The first tokens of each row.

    Args:
        tokens: string, (batch, time).
        lengths: int, (batch,); what is below 0 or above time counts as that.

    Returns:
        tf.RaggedTensor of strings, (batch, None).
    """
    time = tf.shape(tokens)[1]
    is_token = tf.sequence_mask(tf.clip_by_value(lengths, 0, time), time)
    return tf.ragged.boolean_mask(tokens, is_token)


class GraphEncoder:
    """Strings to the ids a model reads, as `ElmoPreprocessor` makes them.

    Args:
        tokenizer: `ElmoTokenizer`; for words or dictionaries with its vocabulary.

    Call arguments:
        strings: string, (batch,) texts, (batch, T) tokens padded with "" at the end,
            or a tf.RaggedTensor of tokens, (batch, None).
        length: int, tokens a row; longer rows are cut. None for the longest row's.

    Returns:
        int32, (batch, T, `ids_width`), or (batch, T) where a token is one id; 0 where
        padded.
    """

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer
        width = tokenizer.max_characters_per_token
        #: What a SavedModel has to keep track of: tables of words or characters.
        self.resources = []
        if tokenizer.input_kind == "characters":
            self._encode = lambda tokens: _encode(tokens, width)
        elif tokenizer.input_kind == "words":
            words = tokenizer.words()
            # A word that comes twice has one id, so that its rows agree.
            ids = dict(zip(words.tokens, words.ids(words.tokens), strict=True))
            table = _table(ids, words.unknown_id)
            self.resources = [table]
            self._encode = table.lookup
        else:
            self._encode = _DictionaryEncoder(tokenizer.dictionaries(), width)
            self.resources = self._encode.tables

    def __call__(self, strings, length=None):
        tokens = self.tokens(strings)
        if length is not None:
            tokens = tokens[:, :length]
        ids = self._encode(tokens.values)
        ids = tokens.with_values(ids).to_tensor(
            PADDING_ID, shape=(None, None, *ids.shape[1:])
        )
        if length is not None:
            missing = length - tf.shape(ids)[1]
            ids = tf.pad(ids, [[0, 0], [0, missing]] + [[0, 0]] * (ids.shape.rank - 2))
            ids = tf.ensure_shape(ids, (None, length, *ids.shape[2:]))
        return ids

    @property
    def splitter(self):
        """How texts are split: "whitespace" or "unicode"."""
        return self._tokenizer.splitter

    def tokens(self, strings):
        """The tokens of strings in any form: tf.RaggedTensor, (batch, None)."""
        if isinstance(strings, tf.RaggedTensor):
            return strings
        strings = tf.convert_to_tensor(strings)
        if strings.dtype != tf.string or strings.shape.rank not in (1, 2):
            raise TypeError(
                "`strings` must be of dtype string, (batch,) texts or (batch, time) "
                f"tokens. Received: {strings.dtype.name} of shape {strings.shape}."
            )
        if strings.shape.rank == 1:
            if self._tokenizer.splitter == "unicode":
                return unicode_tokenize(strings)
            return whitespace_tokenize(strings)
        # "" is padding behind the last token, and a token before it.
        numbers = tf.range(1, tf.shape(strings)[1] + 1)[None]
        is_token = tf.cast(tf.not_equal(strings, ""), numbers.dtype)
        lengths = tf.reduce_max(tf.pad(numbers * is_token, [[0, 0], [1, 0]]), axis=1)
        return rows_of(strings, lengths)


class _DictionaryEncoder:
    """`Dictionaries.encode_tokens` of one width, as a graph."""

    def __init__(self, dictionaries, width):
        self._width = width
        self._markers = list(
            zip(MARKERS, dictionaries.encode_tokens(MARKERS, width), strict=True)
        )
        self._words = self._characters = None
        if dictionaries.words is not None:
            rows = {word: row + 1 for word, row in dictionaries.words.items()}
            self._words = _table(rows, rows[UNKNOWN])
        if dictionaries.characters is not None:
            rows = {entry: row + 1 for entry, row in dictionaries.characters.items()}
            self._characters = _table(rows, rows[UNKNOWN])
            self._special = rows
        self.tables = [t for t in (self._words, self._characters) if t is not None]

    def __call__(self, tokens):
        cut = tf.strings.substr(tokens, 0, self._width - 2, unit="UTF8_CHAR")
        parts = []
        if self._words is not None:
            parts.append(self._words.lookup(cut)[:, None])
        if self._characters is not None:
            parts.append(self._spell(cut, self._characters))
        ids = tf.concat(parts, axis=1)
        if self._characters is None:
            ids = ids[:, 0]
        for marker, row in self._markers:
            is_marker = tf.reshape(tokens == marker, [-1] + [1] * (ids.shape.rank - 1))
            ids = tf.where(is_marker, row, ids)
        return ids

    def _spell(self, cut, table):
        split = tf.strings.unicode_split(cut, "UTF-8")
        ids = split.with_values(table.lookup(split.values))
        pad = self._special[PADDING]
        ids = ids.to_tensor(pad, shape=(None, self._width - 2))
        ids = tf.pad(ids, [[0, 0], [1, 1]], constant_values=pad)
        columns = tf.range(self._width, dtype=tf.int64)[None]
        is_end = columns == split.row_lengths()[:, None] + 1
        ids = tf.where(is_end, self._special[END_WORD], ids)
        return tf.where(columns == 0, self._special[BEGIN_WORD], ids)


def _table(rows, unknown):
    """A table of strings to int32 that has no more than these."""
    # Built once, outside whatever function is being traced.
    with tf.init_scope():
        return tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(
                tf.constant([key.encode("utf-8") for key in rows]),
                tf.constant(list(rows.values()), tf.int32),
            ),
            default_value=tf.constant(unknown, tf.int32),
        )
