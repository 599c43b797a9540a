"""Corpora of any size to Parquet, by Ray Data on one machine or a cluster.

```
OUTPUT/
  _run.json                          what was asked for: a restart must ask for the same
  source=NAME/part-000000010000.parquet   one row a sentence, from sentence 10,000 on
```

A piece of a file is the unit of work. Its Parquet file is written under another name
and moved into place when it is whole: what lies there is done, and is not done again
after a restart, nor when a worker dies and Ray gives its piece to another one.
"""

import hashlib
import importlib
import os
from collections.abc import Iterable
from urllib.parse import quote

import keras

from keras_elmo import checks
from keras_elmo.embed import embed_iter
from keras_elmo.embed_workers import thread_environment
from keras_elmo.inference import DTYPES
from keras_elmo.models.elmo_backbone import ElmoBackbone
from keras_elmo.outputs import ParquetWriter
from keras_elmo.presets import METADATA_FILE, load_tokenizer, preset_directory
from keras_elmo.text.tokenizers import get_tokenizer

try:
    ray_data = importlib.import_module("ray.data")
    from keras_elmo.integrations.corpus_pieces import Piece, plan_pieces, read_piece
    from keras_elmo.integrations.corpus_storage import (
        absolute,
        exists,
        find_sources,
        join,
        open_run,
        parts,
        remove_left_over,
        written,
    )
except ImportError as error:
    raise ImportError(
        "keras_elmo.integrations.ray_data needs Ray Data: "
        f"pip install 'keras-elmo[ray]'. ({error})"
    ) from error

# Blocks of Ray Data: a block is what it gives to a worker and counts.
MOST_BLOCKS = 10_000


def embed_files(
    files: str | os.PathLike | Iterable[str | os.PathLike],
    model: str | os.PathLike,
    output: str | os.PathLike,
    *,
    column: str = "text",
    layers: str | int = "mix",
    pooling: str | None = None,
    tokenizer: str = "whitespace",
    batch_size: int = 32,
    token_cache: str | os.PathLike | None = None,
    dtype: str = "float32",
    rows_per_file: int = 10_000,
    workers: int | None = None,
    cpus_per_worker: int = 1,
    gpus_per_worker: float = 0,
) -> dict:
    """Writes the vectors of every sentence of files as Parquet, one row a sentence.

    Columns: "number" (int64, the sentence's place in its file, from 0), "text", and
    "vectors" (lists of float32); `source`, the file's name, is the partition, which
    readers of such directories add. The same call again goes on where the last one
    ended, and takes files that have come since.

    Runs on the Ray that this process is connected to (`ray.init`), or else starts one
    on this machine. On a cluster, paths must be those of a file system that all of it
    sees, or URIs that pyarrow knows (s3://, gs://, hdfs://), and keras_elmo must be
    installed on each machine. One run at a time may write into a directory.

    Args:
        files: path or URI, or several: text with one sentence a line, `.gz` unpacked,
            or Parquet; a directory stands for all the files in it. A packed text is one
            piece, whatever its length.
        model: what `ElmoBackbone.from_preset` takes, on every machine.
        output: directory to make, or to go on with.
        column: str, the column of Parquet files that holds sentences, as strings or as
            lists of tokens.
        layers: as in `keras_elmo.embed`.
        pooling: as in `keras_elmo.embed`.
        tokenizer: "whitespace" or "unicode", how strings are split.
        batch_size: int, sentences run together at most.
        token_cache: path of a token cache, or None.
        dtype: as in `keras_elmo.embed`.
        rows_per_file: int, sentences of a piece, and of a file that is written.
        workers: int, processes that hold the model; None for as many as the cluster
            has room for.
        cpus_per_worker: int, cores and threads of each.
        gpus_per_worker: number, as Ray counts them.

    Returns:
        dict: "output", "sources", "sentences", "files" that are there now, and of them
        "files_kept" from before.

    Raises:
        FileNotFoundError: when a file is not there.
        ValueError: when the directory holds another run, a file has changed since, two
            files have one name, or a sentence cannot be read (naming file and line).

    Example:
    ```py
    from keras_elmo.integrations.ray_data import embed_files

    embed_files("corpus/", "PRESET_DIR", "vectors/", workers=2, pooling="mean")
    # ray.data.read_parquet("vectors/"), or any reader of Parquet
    ```
    """
    get_tokenizer(tokenizer)
    rows = checks.positive_int("rows_per_file", rows_per_file)
    cpus = checks.positive_int("cpus_per_worker", cpus_per_worker)
    if workers is not None:
        workers = checks.positive_int("workers", workers)
    output = absolute(output)
    # A directory's name holds wherever a worker stands; any other is a preset's.
    model = absolute(model) if os.path.isdir(model) else os.fspath(model)
    sources = find_sources(files)
    settings = {
        "model_sha256": _model_digest(model),
        "column": column,
        "layers": layers,
        "pooling": pooling,
        "tokenizer": tokenizer,
        "dtype": checks.one_of("dtype", dtype, DTYPES),
        "rows_per_file": rows,
    }
    open_run(output, settings, sources)
    environment = {
        **thread_environment(cpus),
        "KERAS_BACKEND": keras.backend.backend(),
    }
    embed = {
        "layers": layers,
        "pooling": pooling,
        "batch_size": checks.positive_int("batch_size", batch_size),
        "token_cache": None if token_cache is None else absolute(token_cache),
        "dtype": dtype,
    }
    found = [
        {"path": path, "folder": join(output, f"source={quote(name, safe='')}")}
        for name, (path, _) in sources.items()
    ]
    pieces = _run(
        ray_data.from_items(found).flat_map(
            plan_pieces, fn_kwargs={"column": column, "rows": rows}
        )
    )
    done = {join(row["folder"], name) for row in found for name in parts(row["folder"])}
    todo = [piece for piece in pieces if piece["part"] not in done]
    if todo:
        size = {"size": workers} if workers else {"min_size": 1}
        blocks = ray_data.from_items(
            todo, override_num_blocks=min(len(todo), MOST_BLOCKS)
        )
        _run(
            blocks.map(
                _PieceEmbedder,
                fn_constructor_args=(model, tokenizer, column, embed),
                compute=ray_data.ActorPoolStrategy(**size),
                num_cpus=cpus,
                num_gpus=gpus_per_worker or None,
                runtime_env={"env_vars": environment},
            )
        )
        for row in found:
            remove_left_over(row["folder"])
    return {
        "output": output,
        "sources": len(sources),
        "sentences": sum(piece["stop"] - piece["start"] for piece in pieces),
        "files": len(pieces),
        "files_kept": len(pieces) - len(todo),
    }


def _run(dataset):
    """The rows of a data set, or the error that one of them is."""
    rows = []
    for row in dataset.iter_rows():
        if row.get("error") is not None:
            raise ValueError(row["error"])
        rows.append(row)
    return rows


class _PieceEmbedder:
    """A worker: holds the model, turns one piece after the other into a file."""

    def __init__(self, model, tokenizer, column, options):
        self._model, self._column, self._options = model, column, options
        self._tokenize = get_tokenizer(tokenizer)
        self._backbone = None

    def __call__(self, row):
        piece = Piece(*(row[field] for field in Piece._fields))
        try:
            # Ray gives a piece again when a worker died that had just finished it.
            if not exists(piece.part):
                self._write(piece)
        # What cannot be mended by doing it again is told as it is, not as Ray's.
        except (ImportError, OSError, TypeError, ValueError) as error:
            return {"part": piece.part, "error": str(error)}
        return {"part": piece.part, "error": None}

    def _write(self, piece):
        if self._backbone is None:
            self._backbone = ElmoBackbone.from_preset(self._model)
        texts = []

        def sentences():
            for sentence in read_piece(piece, self._column):
                is_text = isinstance(sentence, str)
                texts.append(sentence if is_text else " ".join(sentence))
                yield self._tokenize(sentence) if is_text else sentence

        with written(piece.part) as stream:
            writer = ParquetWriter(stream, first=piece.start)
            vectors = embed_iter(sentences(), self._backbone, **self._options)
            for number, row in enumerate(vectors):
                writer.write(texts[number], row)
                texts[number] = None
            writer.finish()
            writer.close()
            if len(texts) != piece.stop - piece.start:
                raise ValueError(f"`{piece.path}` was changed while it was read.")


def _model_digest(model):
    """A SHA-256 of a preset's files: the same name may hold another model later."""
    load_tokenizer(model)  # an error that says what is wrong with it
    digest = hashlib.sha256()
    directory = preset_directory(model)
    for path in sorted(directory.rglob("*")):
        # Not its card, nor what says when it was saved.
        if path.suffix in (".h5", ".txt", ".json") and path.name != METADATA_FILE:
            with open(path, "rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(f"{path.relative_to(directory)} {content}\n".encode())
    return digest.hexdigest()
