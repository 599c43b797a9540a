"""What `keras-elmo pretrain` and `keras-elmo evaluate` do."""

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from keras_elmo.changes import split_changes
from keras_elmo.data.corpus import Corpus
from keras_elmo.lines import read_sentences
from keras_elmo.models.elmo_bilm import ElmoBiLM
from keras_elmo.text.tokenizers import get_tokenizer
from keras_elmo.training.held_out import read_held_out
from keras_elmo.training.perplexity import BATCH_SIZE, perplexity
from keras_elmo.training.pretrain import pretrain as run_pretrain
from keras_elmo.training.recipes import settings_of
from keras_elmo.training.run_directory import PRESET, last_row


def pretrain(
    corpus_dir: str | PathLike,
    run_dir: str | PathLike,
    *,
    recipe: str,
    changes: Iterable[str] = (),
    held_out: Sequence[str | PathLike] = (),
    init_from: str | PathLike | None = None,
    steps: int | None = None,
    seconds: float | None = None,
) -> dict:
    """Pretrains from files.

    Args:
        corpus_dir: what `prepare` made.
        run_dir: the run's directory.
        recipe: name of a recipe.
        changes: texts of the form "name=value".
        held_out: text files.
        init_from: preset to start from, or None.
        steps: int, or None.
        seconds: float, or None.

    Returns:
        dict: the last line of the log, and where the model is.
    """
    settings = settings_of(recipe, split_changes(changes))
    corpus = Corpus.read(Path(corpus_dir))
    text = None
    if held_out:
        text = read_held_out(held_out, corpus, settings.evaluate_tokens)
    run_pretrain(
        corpus,
        run_dir,
        settings,
        held_out=text,
        init_from=init_from,
        steps=steps,
        seconds=seconds,
    )
    return {**last_row(run_dir), "preset": f"{run_dir}/{PRESET}"}


def evaluate(
    files: Sequence[str | PathLike],
    preset: str | PathLike,
    *,
    batch_size: int = BATCH_SIZE,
    tokenizer: str = "whitespace",
) -> dict:
    """Perplexities of text files.

    Args:
        files: text, one sentence a line; `.gz` is read as such; blank lines count
            nothing.
        preset: preset directory with a language model.
        batch_size: int, sentences run together.
        tokenizer: "whitespace" or "unicode".

    Returns:
        dict, as `training.perplexity` returns it, and "unknown_tokens", those of them
        that the vocabulary lacks.

    Raises:
        ValueError: when there is no sentence, or the preset has no language model.
    """
    tokenize = get_tokenizer(tokenizer)
    for path in files:
        # Not after the model was loaded, which may take minutes.
        with open(path, "rb"):
            pass
    model = ElmoBiLM.from_preset(preset)
    vocabulary = model.backbone.vocabulary
    assert vocabulary is not None  # a language model is not saved without one
    unknown = 0

    def sentences():
        nonlocal unknown
        for tokens in read_sentences(files, tokenize):
            unknown += sum(token not in vocabulary for token in tokens)
            yield tokens

    found = perplexity(model, sentences(), vocabulary, batch_size)
    return {**found, "unknown_tokens": unknown}
