"""Text to tokens to ids: tokenizers, characters and vocabularies."""

from keras_elmo.text.characters import (
    check_sentences as check_sentences,
    count_truncated as count_truncated,
    decode_characters as decode_characters,
    distinct_tokens as distinct_tokens,
    encode_sentences as encode_sentences,
    encode_tokens as encode_tokens,
)
from keras_elmo.text.dictionaries import Dictionaries as Dictionaries
from keras_elmo.text.elmo_tokenizer import ElmoTokenizer as ElmoTokenizer
from keras_elmo.text.fasta import FastaRecord as FastaRecord, read_fasta as read_fasta
from keras_elmo.text.tokenizers import (
    get_tokenizer as get_tokenizer,
    unicode_tokenize as unicode_tokenize,
    whitespace_tokenize as whitespace_tokenize,
)
from keras_elmo.text.vocabulary import (
    Vocabulary as Vocabulary,
    build_vocabulary as build_vocabulary,
    build_vocabulary_from_files as build_vocabulary_from_files,
)
