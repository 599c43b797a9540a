"""bilm-tf's training checkpoints, `model.ckpt-*`: read into an `ElmoBiLM`, written.

A folder as `bilm/training.py`, `train`, leaves it: `options.json`, `checkpoint`,
`model.ckpt-N.index` and its data. Beside the layers below the softmax, which is all
that published weights have, it holds the softmax and Adagrad's slots: the model can
be evaluated, and its training goes on.

TensorFlow is not needed; see `tensor_bundle.py`.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from keras_elmo.checkpoints.bilm_fit import (
    assign,
    by_published_name,
    check_fit,
    first_of,
    read_all,
    without_padding_row,
)
from keras_elmo.checkpoints.bilm_names import (
    CHARACTER_TABLE,
    SOFTMAX_BIAS,
    language_model_weights,
    training_name,
)
from keras_elmo.checkpoints.bilm_options import (
    config_to_options,
    options_to_config,
    read_options,
)
from keras_elmo.checkpoints.bilm_tf1_files import (
    LATEST_FILE,
    OPTIONS_FILE,
    find_checkpoint,
    latest_text,
)
from keras_elmo.checkpoints.tensor_bundle import TensorBundle, write_bundle
from keras_elmo.checkpoints.training_state import INITIAL_ACCUMULATOR, TrainingState
from keras_elmo.files import atomic_directory
from keras_elmo.text.vocabulary import Vocabulary

VOCABULARY_FILE = "vocab.txt"
_SCOPE = "lm/"
_SLOT = "/Adagrad"
# Slots of optimizers that bilm-tf does not use, but its users may.
_OTHER_SLOTS = ("/Adam", "/Adam_1", "/Momentum", "/RMSProp", "/RMSProp_1")
# bilm-tf's training needs these; where a model comes from elsewhere they are those of
# its `bin/train_elmo.py`.
_TRAINING_OPTIONS = {
    "all_clip_norm_val": 10.0,
    "n_epochs": 10,
    "n_train_tokens": 768_648_884,
    "batch_size": 128,
    "unroll_steps": 20,
    "n_negative_samples_batch": 8192,
}


@dataclass
class Checkpoint:
    """What a training checkpoint holds.

    Attributes:
        prefix: pathlib.Path of its files without `.index`.
        config: dict, the arguments of its `ElmoBackbone`.
        vocabulary_size: int, words that are predicted.
        tied: bool. The softmax' matrix is the table of words.
        arrays: dict of float32 arrays by published names, the softmax among them.
        state: `TrainingState`: options, steps, Adagrad's accumulators.
        vocabulary: `Vocabulary`, or None where none was given.
    """

    prefix: Path
    config: dict
    vocabulary_size: int
    tied: bool
    arrays: dict[str, np.ndarray]
    state: TrainingState
    vocabulary: Vocabulary | None

    def language_model(self, batch_size: int | None = None):
        """The `ElmoBiLM`, with bilm-tf's scale of the loss.

        Args:
            batch_size: int, rows whose state is carried in training, or None.
        """
        from keras_elmo.models.elmo_backbone import ElmoBackbone
        from keras_elmo.models.elmo_bilm import ElmoBiLM

        scale = self.state.number("unroll_steps") or 1.0
        backbone = ElmoBackbone(**self.config)
        backbone.vocabulary = self.vocabulary
        model = ElmoBiLM(
            backbone,
            self.vocabulary_size,
            tie_embeddings=self.tied,
            batch_size=batch_size,
            loss_scale=scale,
        )
        weights = language_model_weights(self.config, self.vocabulary_size, self.tied)
        assign(model, weights, self.arrays)
        return model


def read_checkpoint(
    source: str | os.PathLike,
    vocabulary: "Vocabulary | str | os.PathLike | None" = None,
) -> Checkpoint:
    """Reads a training checkpoint.

    Args:
        source: as for `find_checkpoint`.
        vocabulary: `Vocabulary`, or the path of the file that it was trained with.
            Needed for word input, and for all that concerns words: perplexity,
            fine-tuning, saving the language model.

    Raises:
        FileNotFoundError: when a file is missing, naming it.
        ValueError: when a file is damaged, or options, variables and vocabulary
            contradict each other.

    Example:
    ```python
    checkpoint = read_checkpoint("trained", vocabulary="vocabulary.txt")
    model = checkpoint.language_model(batch_size=128)
    model.compile(checkpoint.state.optimizer(model))  # goes on from Adagrad's slots
    ```
    """
    prefix, options_path = find_checkpoint(source)
    options = read_options(options_path)
    if vocabulary is not None and not isinstance(vocabulary, Vocabulary):
        vocabulary = Vocabulary.read(vocabulary)
    bundle = TensorBundle(prefix)
    variables, slots, step = _sorted_out(bundle)
    shapes = {name: bundle.shapes[full] or () for name, full in variables.items()}
    size, tied = _words_of(options, options_path, shapes, vocabulary, prefix)
    markers = {}
    if "char_cnn" not in options and vocabulary is not None:
        markers = {
            "vocabulary_size": size,
            "start_token_id": vocabulary.begin_sentence_id,
            "end_token_id": vocabulary.end_sentence_id,
        }
    config = options_to_config(options, **markers)
    weights = language_model_weights(config, size, tied)
    check_fit(config, weights, shapes, prefix, f"`{options_path}`")
    state = TrainingState(options, step)
    try:
        state.check()
    except ValueError as error:
        raise ValueError(f"`{options_path}`: {error}") from None
    arrays = {name: bundle.read_float32(variables[name]) for name in weights}
    if slots:
        _check_slots(slots, variables, bundle, prefix)
        state.accumulators = {
            name: bundle.read_float32(slots[name]) for name in weights
        }
    if CHARACTER_TABLE in arrays:
        arrays[CHARACTER_TABLE] = without_padding_row(arrays[CHARACTER_TABLE], prefix)
        if slots:
            rows = len(arrays[CHARACTER_TABLE])
            table = state.accumulators[CHARACTER_TABLE]
            state.accumulators[CHARACTER_TABLE] = table[len(table) - rows :]
    return Checkpoint(prefix, config, size, tied, arrays, state, vocabulary)


def _sorted_out(bundle):
    """({published name: variable}, the same of Adagrad's slots, steps done)."""
    variables, slots = {}, {}
    for full in bundle.entries:
        if not full.startswith(_SCOPE) or full.endswith(_OTHER_SLOTS):
            continue
        name = full.removeprefix(_SCOPE)
        if name.endswith(_SLOT):
            slots[name.removesuffix(_SLOT)] = full
        else:
            variables[name] = full
    step = 0
    if "global_step" in bundle.entries:
        number = bundle.read("global_step")
        if number.shape != () or not 0 <= number < 2**53:
            raise ValueError(
                f"`global_step` of `{bundle.prefix}` must be a number of steps. "
                f"Received: {number}."
            )
        step = int(number)
    path = bundle.prefix
    return by_published_name(variables, path), by_published_name(slots, path), step


def _words_of(options, options_path, shapes, vocabulary, prefix):
    """(number of words, whether the softmax is tied)."""
    size = options.get("n_tokens_vocab")
    if size is None:
        if len(shapes.get(SOFTMAX_BIAS, ())) != 1:
            raise ValueError(
                f"`{prefix}` has no softmax (`{_SCOPE}{SOFTMAX_BIAS}`): it is no "
                "checkpoint of bilm-tf's training."
            )
        size = shapes[SOFTMAX_BIAS][0]
    tied = options.get("share_embedding_softmax", False)
    if type(tied) is not bool or (tied and "char_cnn" in options):
        raise ValueError(
            f"`share_embedding_softmax` of `{options_path}` must be true or false, and "
            f"false with `char_cnn`. Received: {tied!r}."
        )
    if vocabulary is not None and len(vocabulary) != size:
        raise ValueError(
            f"The vocabulary has {len(vocabulary)} words but `{prefix}` was trained "
            f"with {size}: it is another vocabulary."
        )
    if vocabulary is None and "char_cnn" not in options:
        raise ValueError(
            f"`vocabulary` must be given: the model reads words, as `{options_path}` "
            "has no `char_cnn`."
        )
    return size, tied


def _check_slots(slots, variables, bundle, prefix):
    """Refuses slots that are not those of the variables."""
    wrong = [
        f"`{name}`"
        for name in {**variables, **slots}
        if name not in slots
        or name not in variables
        or bundle.shapes[slots[name]] != bundle.shapes[variables[name]]
    ]
    if wrong:
        raise ValueError(
            f"`{prefix}` must have one slot of Adagrad a variable, of its shape. "
            f"Missing or wrong: {first_of(wrong)}."
        )


def write_checkpoint(
    model,
    directory: str | os.PathLike,
    state: TrainingState | None = None,
    overwrite: bool = False,
) -> Path:
    """Writes an `ElmoBiLM` as bilm-tf's training leaves it, for it to go on.

    Args:
        model: `ElmoBiLM`, whose backbone knows its vocabulary.
        directory: the folder to make: `options.json`, `vocab.txt`, `checkpoint` and
            the checkpoint's two files.
        state: `TrainingState`, or None: accumulators as training begins with, and
            bilm-tf's own options of training.
        overwrite: bool. Replace what is there.

    Returns:
        pathlib.Path, the checkpoint's prefix.

    Raises:
        FileExistsError: when `directory` exists and `overwrite` is False.
        ValueError: when the vocabulary is missing, a weight is not finite, or the
            state is of another model.
    """
    vocabulary = model.backbone.vocabulary
    if vocabulary is None or len(vocabulary) != model.vocabulary_size:
        raise ValueError(
            f"`backbone.vocabulary` must be set, to one of {model.vocabulary_size} "
            f"words. Received: {vocabulary!r}."
        )
    options = training_options(model) if state is None else state.options
    state = TrainingState(options) if state is None else state
    weights = language_model_weights(
        model.backbone.get_config(), model.vocabulary_size, model.tie_embeddings
    )
    arrays = read_all(model, weights)
    slots = state.accumulators or {
        name: np.full(weight.shape, INITIAL_ACCUMULATOR, np.float32)
        for name, weight in weights.items()
    }
    if {name: a.shape for name, a in slots.items()} != {
        name: weight.shape for name, weight in weights.items()
    }:
        raise ValueError("`state` has the accumulators of another model.")
    layers = model.backbone.num_layers
    variables: dict[str, np.ndarray] = {
        "global_step": np.array(state.step, np.float32),
        "train_perplexity": np.array(0.0, np.float32),
    }
    for name in weights:
        full = training_name(name, layers)
        variables[full] = arrays[name]
        variables[full + _SLOT] = np.asarray(slots[name], np.float32)
    name = f"model.ckpt-{state.step}"
    with atomic_directory(directory, overwrite=overwrite) as folder:
        (folder / OPTIONS_FILE).write_text(json.dumps(options), encoding="utf-8")
        # Without the counts: bilm-tf takes the whole line for the word.
        Vocabulary(vocabulary.tokens).write(folder / VOCABULARY_FILE)
        (folder / LATEST_FILE).write_text(latest_text(name), encoding="utf-8")
        write_bundle(folder / name, variables)
    return Path(directory) / name


def training_options(model) -> dict:
    """The options that bilm-tf's training goes on with, of a model from elsewhere.

    Args:
        model: `ElmoBiLM`.
    """
    options = config_to_options(model.backbone.get_config())
    if "char_cnn" in options:
        options["char_cnn"]["n_characters"] = 261
    words = model.vocabulary_size
    options.update(_TRAINING_OPTIONS, n_tokens_vocab=words)
    counts = model.backbone.vocabulary and model.backbone.vocabulary.counts
    if counts:
        # Of the words alone: the markers are counted once a sentence.
        vocabulary = model.backbone.vocabulary
        markers = {vocabulary.begin_sentence_id - 1, vocabulary.end_sentence_id - 1}
        total = sum(n for row, n in enumerate(counts) if row not in markers)
        options["n_train_tokens"] = max(total, 1)
    # bilm-tf draws negatives without end where there are not as many words.
    options["sample_softmax"] = words > options["n_negative_samples_batch"]
    if model.tie_embeddings:
        options["share_embedding_softmax"] = True
    return options
