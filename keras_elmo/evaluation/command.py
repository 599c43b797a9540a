"""What `keras-elmo probe` and `keras-elmo senses` do."""

import json
import sys
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from keras_elmo import checks
from keras_elmo.evaluation.coarse_wsd import read_coarse_wsd
from keras_elmo.evaluation.context_probe import probe_words_in_context
from keras_elmo.evaluation.linear_probe import STEPS
from keras_elmo.evaluation.pictures import (
    draw_layers,
    draw_vectors,
    require_matplotlib,
)
from keras_elmo.evaluation.projection import require_umap
from keras_elmo.evaluation.projector import write_projector
from keras_elmo.evaluation.report import (
    layer_tasks,
    markdown,
    vector_columns,
    vector_names,
)
from keras_elmo.evaluation.sense_probe import probe_senses
from keras_elmo.evaluation.senses import Senses, find_senses
from keras_elmo.evaluation.senses_page import page_data, write_page
from keras_elmo.evaluation.senses_picture import draw_senses
from keras_elmo.evaluation.tag_probe import probe_tags
from keras_elmo.evaluation.token_layers import TokenLayers
from keras_elmo.evaluation.word2vec import require_gensim, train_word2vec
from keras_elmo.files import atomic_path
from keras_elmo.models.elmo_backbone import ElmoBackbone
from keras_elmo.tasks.columns import read_columns
from keras_elmo.tasks.mcl_wic import read_mcl_wic
from keras_elmo.training.command import evaluate

Pair = tuple[str | PathLike, str | PathLike]


def probe(
    model: str | PathLike,
    output: str | PathLike,
    *,
    pos: Pair | None = None,
    chunks: Pair | None = None,
    senses: str | PathLike | None = None,
    words_in_context: Pair | None = None,
    text: Sequence[str | PathLike] = (),
    word_vectors: str | PathLike | None = None,
    word2vec: Sequence[str | PathLike] = (),
    seeds: int = 3,
    limit: int | None = None,
    steps: int = STEPS,
    cache: str | PathLike | None = None,
    overwrite: bool = False,
) -> dict:
    """Measures what the layers of a biLM know, and writes tables and pictures.

    Args:
        model: preset.
        output: directory to make, with `results.json`, `tables.md`, `layers.png` and
            `vectors.png`, as far as there is something to show.
        pos: files of tokens and parts of speech: one to learn from, one to score.
        chunks: such files of chunks' tags.
        senses: folder as `read_coarse_wsd` reads it.
        words_in_context: MCL-WiC's `.data` files, one to choose thresholds on, one to
            score; each one's `.gold` stands beside it.
        text: files of held-out text, for perplexity.
        word_vectors: file of static word vectors to compare with.
        word2vec: in its place text to train them on, the biLM's own.
        seeds: int, how many probes of each kind.
        limit: int, examples to learn from at most, of each file or word.
        steps: int, batches that a probe learns from.
        cache: directory that keeps vectors for the next time, or None.
        overwrite: bool. Replace `output`.

    Returns:
        dict of what was asked for, what `results.json` holds.

    Raises:
        ImportError: when matplotlib is not installed, or gensim where `word2vec` is
            asked for.
        ValueError: when nothing to measure was given, or a file is not of its form.
    """
    if not any((pos, chunks, senses, words_in_context, text)):
        raise ValueError(
            "At least one of --pos, --chunks, --senses, --wic and --text must be given."
        )
    if word_vectors is not None and word2vec:
        raise ValueError("Only one of --word-vectors and --word2vec may be given.")
    # What would fail after an hour fails now.
    require_matplotlib()
    if word2vec:
        require_gensim()
    numbers = range(checks.positive_int("seeds", seeds))
    checks.positive_int("steps", steps)
    if limit is not None:
        checks.positive_int("limit", limit)
    static = () if word_vectors is None else (word_vectors,)
    for path in [*text, *word2vec, *static]:
        with open(path, "rb"):
            pass
    for path in [*(pos or ()), *(chunks or ())]:
        read_columns(path)
    if senses:
        read_coarse_wsd(senses)
    pairs = [
        read_mcl_wic(path, Path(path).with_suffix(".gold"))
        for path in words_in_context or ()
    ]
    with atomic_path(output, overwrite=overwrite) as folder:
        backbone = ElmoBackbone.from_preset(model)
        layers = TokenLayers(backbone, cache)
        options = {"seeds": numbers, "limit": limit, "steps": steps}
        results: dict = {}
        if text:
            # First: not every preset has a language model's softmax.
            _tell("measuring perplexity")
            results["perplexity"] = evaluate(text, model)
        for name, files in {"pos": pos, "chunks": chunks}.items():
            if files:
                _tell(f"probing {name}")
                results[name] = probe_tags(*files, layers, **options)
        if word2vec and (senses or pairs):
            _tell("training word2vec")
            word_vectors = train_word2vec(word2vec, dim=backbone.output_dim)
        if senses:
            _tell("probing senses")
            results["senses"] = probe_senses(
                senses, layers, word_vectors=word_vectors, **options
            )
        if pairs:
            _tell("comparing words in context")
            results["words_in_context"] = probe_words_in_context(
                pairs[0], pairs[1], layers, word_vectors=word_vectors, limit=limit
            )
        _write(results, folder)
    return results


def senses(
    word: str,
    corpus: Sequence[str | PathLike],
    model: str | PathLike,
    output: str | PathLike,
    *,
    cache: str | PathLike | None = None,
    overwrite: bool = False,
    **options,
) -> Senses:
    """Looks at the uses of a word, and writes pictures, a page and their data.

    Args:
        word: str, one token.
        corpus: text files, one sentence a line.
        model: preset.
        output: directory to make: `senses.json`, `senses.png`, `senses.html` and
            `projector/` for TensorBoard.
        cache: directory that keeps vectors for the next time, or None.
        overwrite: bool. Replace `output`.
        **options: as `find_senses` takes them.

    Returns:
        `Senses`.

    Raises:
        ImportError: when matplotlib is not installed, or UMAP where it is asked for.
        ValueError: when the corpus has no use of the word.
    """
    require_matplotlib()
    if options.get("method") == "umap":
        require_umap()
    for path in corpus:
        with open(path, "rb"):
            pass
    with atomic_path(output, overwrite=overwrite) as folder:
        layers = TokenLayers(ElmoBackbone.from_preset(model), cache)
        found = find_senses(word, corpus, layers, **options)
        folder.mkdir()
        text = json.dumps(page_data(found), ensure_ascii=False, indent=1)
        (folder / "senses.json").write_text(text + "\n", encoding="utf-8")
        draw_senses(found, folder / "senses.png")
        write_page(found, folder / "senses.html")
        write_projector(found, folder / "projector")
    return found


def _write(results, folder):
    folder.mkdir()
    write = {"encoding": "utf-8"}
    text = json.dumps(results, indent=1, ensure_ascii=False)
    (folder / "results.json").write_text(text + "\n", **write)
    (folder / "tables.md").write_text(markdown(results), **write)
    if tasks := layer_tasks(results):
        draw_layers(tasks, folder / "layers.png")
    if columns := vector_columns(results):
        draw_vectors(columns, vector_names(columns), folder / "vectors.png")


def _tell(text):
    print(text, file=sys.stderr, flush=True)
