"""Text files into a corpus directory: a vocabulary and memory-mapped type numbers."""

import contextlib
import errno
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from keras_elmo import checks
from keras_elmo._version import __version__
from keras_elmo.data.corpus import Corpus, order_types
from keras_elmo.data.corpus_files import (
    CHARACTER_DTYPE,
    CHARACTERS_FILE,
    FORMAT,
    INFO_FILE,
    NUMBERS,
    OFFSET_DTYPE,
    OFFSETS_FILE,
    TOKEN_DTYPE,
    TOKENS_FILE,
    TYPES_FILE,
    VOCABULARY_FILE,
    ArrayFile,
    read_info,
)
from keras_elmo.data.text_files import find_sources
from keras_elmo.files import atomic_directory
from keras_elmo.text.characters import count_truncated, encode_tokens
from keras_elmo.text.tokenizers import get_tokenizer
from keras_elmo.text.vocabulary import (
    SPECIALS,
    Vocabulary,
    build_vocabulary_from_counts,
)

# Tokens that are numbered at once. A count of a chunk is as long as all the types, so
# small chunks would spend their time on zeros; the strings of one take some 40 MB.
_CHUNK = 1 << 19
_TYPES_AT_ONCE = 1 << 14


def prepare(
    patterns: Iterable[str | os.PathLike] | str | os.PathLike,
    output: str | os.PathLike,
    *,
    min_count: int = 1,
    max_size: int | None = None,
    max_characters_per_token: int = 50,
    tokenizer: str = "whitespace",
    vocabulary: Vocabulary | str | os.PathLike | None = None,
    grow: bool = False,
    overwrite: bool = False,
) -> dict:
    """Makes a corpus directory of text, one sentence a line, that `Corpus` reads.

    Lines without a token are skipped and counted. The directory holds `corpus.json`
    (numbers, options, inputs), `vocabulary.txt`, `types.txt` (every distinct token),
    `characters.npy` (their character ids), `tokens.npy` (the text as types) and
    `offsets.npy` (where sentences start). It appears whole or not at all.

    Args:
        patterns: paths, globs and `tfds:NAME[:SPLIT]`. Files are sorted, each is read
            once, and one that ends in `.gz` is unpacked.
        output: directory to make. When it was made from the same input with the same
            options, nothing is written.
        min_count: int, how often a word must occur to be in the vocabulary.
        max_size: int, words of the vocabulary at most, the specials included, or None.
        max_characters_per_token: int of at least 3, character ids kept a token (C).
        tokenizer: "whitespace" or "unicode".
        vocabulary: `Vocabulary` or its file, whose rows are kept as they are, or None
            to build one.
        grow: bool. Append the text's own words to the given vocabulary, by falling
            count: those of `min_count`, up to `max_size` words in all.
        overwrite: bool. Replace a corpus that is at `output`.

    Returns:
        dict: "output", "reused", and the numbers "sentences", "tokens", "types",
        "vocabulary_size", "unknown_tokens" (those the vocabulary lacks),
        "truncated_tokens" (with more bytes than C - 2), "blank_lines", "empty_files"
        (files without a sentence), "files".

    Raises:
        FileExistsError: when `output` is of other input or options.
        FileNotFoundError: when a pattern matches no file.
        IsADirectoryError: when a pattern names a directory.
        ValueError: when an option is none of those above, a line is not UTF-8, or
            there are no sentences.

    Example:
    ```python
    summary = prepare(["texts/**/*.txt.gz"], "corpus", min_count=3)
    corpus = Corpus.read("corpus")
    ```
    """
    options = {
        "min_count": checks.positive_int("min_count", min_count),
        "max_size": max_size,
        "max_characters_per_token": checks.positive_int(
            "max_characters_per_token", max_characters_per_token, minimum=3
        ),
        "tokenizer": tokenizer,
        "vocabulary": None,
        "grow": bool(grow),
    }
    tokenize = get_tokenizer(tokenizer)
    if max_size is not None:
        options["max_size"] = checks.positive_int(
            "max_size", max_size, minimum=len(SPECIALS) + 1
        )
    sources = find_sources(patterns, outside=output)
    if vocabulary is not None and not isinstance(vocabulary, Vocabulary):
        vocabulary = Vocabulary.read(vocabulary)
    _check_vocabulary(vocabulary, options)
    if vocabulary is not None:
        content = repr((vocabulary.tokens, vocabulary.counts))
        digest = hashlib.sha256(content.encode("utf-8", "surrogatepass"))
        options["vocabulary"] = digest.hexdigest()
    if os.path.lexists(output):
        if overwrite:
            _check_replaceable(output)
        else:
            numbers = _same_corpus(output, options, sources)
            return {"output": os.fspath(output), "reused": True, **numbers}
    with (
        _told_when_full(output),
        atomic_directory(output, overwrite=overwrite) as folder,
        _progress(len(sources)) as progress,
    ):
        numbers = _make(folder, sources, tokenize, vocabulary, options, progress)
    return {"output": os.fspath(output), "reused": False, **numbers}


def _make(folder, sources, tokenize, vocabulary, options, progress):
    inputs = []
    width = options["max_characters_per_token"]
    with (
        ArrayFile(folder / TOKENS_FILE, TOKEN_DTYPE) as tokens_file,
        ArrayFile(folder / OFFSETS_FILE, OFFSET_DTYPE) as offsets_file,
    ):
        reader = _Reader(tokenize, tokens_file, offsets_file, progress)
        for source in sources:
            inputs.append(source.fingerprint())
            reader.read(source)
        words, counts = reader.finish()
        if not reader.sentences:
            names = ", ".join(source.name for source in sources[:3])
            more = ", …" if len(sources) > 3 else ""
            raise ValueError(f"There are no sentences in the text: {names}{more}.")
        vocabulary = _vocabulary(vocabulary, words, counts, reader.sentences, options)
        vocabulary.write(folder / VOCABULARY_FILE)
        types, renumber = order_types(words, counts, vocabulary)
        tokens_file.rewrite(lambda part: renumber[part])
    numbers = {
        "sentences": reader.sentences,
        "tokens": int(counts.sum()),
        "types": len(types),
        "vocabulary_size": len(vocabulary),
        "unknown_tokens": int(counts[renumber >= len(vocabulary)].sum()),
        "truncated_tokens": sum(
            count
            for word, count in zip(words, counts.tolist(), strict=True)
            if count_truncated((word,), width)
        ),
        "blank_lines": reader.blank_lines,
        "empty_files": reader.empty_files,
        "files": len(sources),
    }
    _write_types(folder, types, width)
    info = {
        "format": FORMAT,
        "made_by": f"keras_elmo {__version__}",
        "numbers": numbers,
        "max_characters_per_token": width,
        "options": options,
        "inputs": inputs,
    }
    (folder / INFO_FILE).write_text(json.dumps(info, indent=1) + "\n", "utf-8")
    return numbers


class _Numbers(dict):
    """Words to numbers in the order in which they are asked for first."""

    def __missing__(self, word):
        self[word] = number = len(self)
        return number


class _Reader:
    """Reads text once: numbers the words, counts them, and writes both arrays."""

    def __init__(self, tokenize, tokens_file, offsets_file, progress):
        self.sentences = self.blank_lines = self.empty_files = 0
        self._tokenize: Callable[[str], list[str]] = tokenize
        self._tokens_file, self._offsets_file = tokens_file, offsets_file
        self._progress = progress
        self._numbers = _Numbers()
        self._counts = np.zeros(0, "int64")
        self._words: list[str] = []
        self._lengths: list[int] = []
        self._end = 0
        offsets_file.append(np.zeros(1, OFFSET_DTYPE))

    def read(self, source):
        sentences = self.sentences + len(self._lengths)
        tokenize, words, lengths = self._tokenize, self._words, self._lengths
        for line in source.lines():
            tokens = tokenize(line)
            if not tokens:
                self.blank_lines += 1
                continue
            words += tokens
            lengths.append(len(tokens))
            if len(words) >= _CHUNK:
                self._flush()
        if sentences == self.sentences + len(lengths):
            self.empty_files += 1
        self._progress(files=1)

    def finish(self):
        """The distinct words in order of appearance, and their counts."""
        self._flush()
        words = list(self._numbers)
        # Millions of numbers that nobody asks for again.
        self._numbers = _Numbers()
        return words, self._counts

    def _flush(self):
        numbers = np.fromiter(
            map(self._numbers.__getitem__, self._words), TOKEN_DTYPE, len(self._words)
        )
        counts = np.bincount(numbers, minlength=len(self._numbers))
        counts[: len(self._counts)] += self._counts
        self._counts = counts
        self._tokens_file.append(numbers)
        ends = np.cumsum(self._lengths, dtype=OFFSET_DTYPE) + self._end
        self._offsets_file.append(ends)
        self._end += len(numbers)
        self.sentences += len(ends)
        self._progress(tokens=len(numbers))
        self._words.clear()
        self._lengths.clear()


def _check_vocabulary(vocabulary, options):
    """Refuses options that would have no effect on the vocabulary."""
    min_count, max_size = options["min_count"], options["max_size"]
    if vocabulary is None:
        if options["grow"]:
            raise ValueError("`grow` needs a `vocabulary` that grows. Received: none.")
        return
    if not options["grow"]:
        if min_count == 1 and max_size is None:
            return
        raise ValueError(
            "`min_count` and `max_size` have no effect on a given `vocabulary` without "
            f"`grow`. Received: min_count={min_count}, max_size={max_size}."
        )
    if max_size is not None and max_size < len(vocabulary):
        rule = f"at least {len(vocabulary)}, the words of the given vocabulary"
        raise ValueError(checks.received("max_size", max_size, rule))


def _vocabulary(given, words, counts, sentences, options):
    min_count, max_size = options["min_count"], options["max_size"]
    if given is not None and not options["grow"]:
        return given
    counted = zip(words, counts.tolist(), strict=True)
    if given is None:
        counts = Counter()
        # Not `Counter(dict(...))`, for a moment two tables of millions of words.
        dict.update(counts, counted)
        return build_vocabulary_from_counts(counts, sentences, min_count, max_size)
    if max_size is not None:
        max_size += len(SPECIALS) - len(given)
        if max_size == len(SPECIALS):
            return given
    counts = {word: count for word, count in counted if word not in given}
    own = build_vocabulary_from_counts(counts, sentences, min_count, max_size)
    tokens = [*given.tokens, *own.tokens[len(SPECIALS) :]]
    if given.counts is None or own.counts is None:
        return Vocabulary(tokens)
    return Vocabulary(tokens, [*given.counts, *own.counts[len(SPECIALS) :]])


def _write_types(folder, types, width):
    """The types as text and as character ids."""
    with (
        open(folder / TYPES_FILE, "wb") as text_file,
        ArrayFile(folder / CHARACTERS_FILE, CHARACTER_DTYPE, (width,)) as array_file,
    ):
        for start in range(0, len(types), _TYPES_AT_ONCE):
            part = types[start : start + _TYPES_AT_ONCE]
            # No type holds a line end: both tokenizers split there, and a vocabulary
            # cannot be written with one.
            text_file.write("".join(f"{word}\n" for word in part).encode("utf-8"))
            array_file.append(encode_tokens(part, width).astype(CHARACTER_DTYPE))


def _same_corpus(output, options, sources):
    """The numbers of the corpus at `output`, or an error that tells what differs."""
    remedy = "Give `overwrite=True` (`--overwrite`) to replace it."
    try:
        info = read_info(output)
        differs = _difference(info, options, sources)
        if not differs:
            Corpus.read(output)
            return {name: info["numbers"][name] for name in NUMBERS}
    except (OSError, ValueError) as error:
        raise FileExistsError(
            f"`{output}` exists and is no whole corpus: {error} {remedy}"
        ) from None
    raise FileExistsError(f"`{output}` exists, made with other {differs}. {remedy}")


def _difference(info, options, sources):
    """What a corpus was made from that is another now, as text, or None."""
    before, inputs = info.get("options"), info.get("inputs")
    if not isinstance(before, dict) or not isinstance(inputs, list):
        raise ValueError(f"`{INFO_FILE}` does not say what it was made from.")
    names = [name for name in options if before.get(name) != options[name]]
    if names:
        return f"options ({', '.join(names)})"
    if len(inputs) != len(sources):
        return f"input ({len(inputs)} files then, {len(sources)} now)"
    # What costs little first: sizes, then contents.
    pairs = list(zip(sources, inputs, strict=True))
    for source, known in pairs:
        if not isinstance(known, dict) or known.get("bytes") != source.size:
            return f"input ({source.name})"
    for source, known in pairs:
        now = source.fingerprint()
        keys = {*now, *known} - ({"name"} if source.size is not None else set())
        if any(now.get(key) != known.get(key) for key in keys):
            return f"input ({source.name})"
    return None


def _check_replaceable(output):
    """Refuses to replace what is no corpus, before any work is done."""
    path = Path(output)
    if not path.is_dir():
        raise NotADirectoryError(f"`{path}` is a file and cannot be replaced.")
    if not (path / INFO_FILE).is_file() and any(path.iterdir()):
        raise ValueError(
            f"`{path}` is a directory that is no corpus (it has no {INFO_FILE}), and "
            "is not replaced."
        )


@contextlib.contextmanager
def _told_when_full(output):
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise OSError(
            errno.ENOSPC,
            "No space left on the disk; nothing was kept of the corpus",
            os.fspath(output),
        ) from error


@contextlib.contextmanager
def _progress(num_files):
    """Yields a function that takes files and tokens read; shows them on a terminal."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda files=0, tokens=0: None
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    total = {"files": 0, "tokens": 0}
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("preparing", total=None)

        def advance(files=0, tokens=0):
            total["files"] += files
            total["tokens"] += tokens
            told = f"{total['files']} of {num_files} files, {total['tokens']:,} tokens"
            progress.update(task, description=f"preparing: {told}")

        yield advance
