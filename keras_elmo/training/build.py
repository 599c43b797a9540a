"""A run's model and optimizer, from its settings."""

import warnings

import keras
import numpy as np

from keras_elmo.checkpoints.training_state import STATE_FILE, TrainingState
from keras_elmo.data.corpus import Corpus
from keras_elmo.data.stream_plan import StreamPlan
from keras_elmo.models.elmo_backbone import ElmoBackbone
from keras_elmo.models.elmo_bilm import ElmoBiLM
from keras_elmo.preset_sources import resolve
from keras_elmo.randomness import seeded
from keras_elmo.training.recipes import Settings

# What a softmax' matrix is multiplied with that is not to disturb its bias.
SMALL = 0.05


def build_model(settings: Settings, vocabulary) -> ElmoBiLM:
    """The `ElmoBiLM` of a run, with new weights that its seed decides.

    Args:
        settings: `Settings`.
        vocabulary: `Vocabulary` of the targets, and of the inputs for word input.
    """
    with seeded(settings.seed):
        return _build_model(settings, vocabulary)


def _build_model(settings, vocabulary):
    inputs: dict = (
        {"vocabulary_size": len(vocabulary)}
        if settings.input_kind == "words"
        else {
            "char_cnn_filters": [list(pair) for pair in settings.char_cnn_filters],
            "character_embedding_dim": settings.character_embedding_dim,
            "max_characters_per_token": settings.max_characters_per_token,
            "num_highway_layers": settings.num_highway_layers,
        }
    )
    if settings.input_kind == "words":
        inputs["start_token_id"] = vocabulary.begin_sentence_id
        inputs["end_token_id"] = vocabulary.end_sentence_id
    backbone = ElmoBackbone(
        hidden_dim=settings.hidden_dim,
        projection_dim=settings.projection_dim,
        num_layers=settings.num_layers,
        cell_clip=settings.cell_clip,
        proj_clip=settings.proj_clip,
        use_skip_connections=settings.use_skip_connections,
        dropout=settings.dropout,
        dtype=None if settings.dtype == "float32" else settings.dtype,
        **inputs,
    )
    backbone.vocabulary = vocabulary
    model = ElmoBiLM(
        backbone,
        len(vocabulary),
        tie_embeddings=settings.tie_embeddings,
        batch_size=settings.batch_size,
        loss_scale=float(settings.unroll) if settings.scale_loss else 1.0,
        dtype=None if settings.dtype == "float32" else settings.dtype,
    )
    if settings.unigram_start:
        _start_as_unigrams(model, vocabulary)
    return model


def _start_as_unigrams(model, vocabulary):
    """Sets the softmax so that the model's first odds are those of the counts."""
    if vocabulary.counts is None:
        return  # a given vocabulary without counts: nothing is known of the odds
    model.softmax.bias.assign(_log_odds(vocabulary))
    if not model.tie_embeddings:
        kernel = keras.ops.convert_to_numpy(model.softmax.kernel)
        model.softmax.kernel.assign(SMALL * kernel)


def _log_odds(vocabulary):
    """The log odds of each word by its count, one added; float32, (V,)."""
    counts = np.array(vocabulary.counts, "float64") + 1.0
    # Each direction predicts one of the two markers, and the one bias serves both.
    return np.log(counts / counts.sum()).astype("float32")


def build_optimizer(settings: Settings, total_steps: int):
    """The optimizer of a run.

    Args:
        settings: `Settings`.
        total_steps: int, of all epochs, over which a schedule runs.
    """
    rate = settings.learning_rate
    warmup = min(settings.warmup_steps, max(total_steps - 1, 0))
    if settings.schedule == "cosine":
        rate = keras.optimizers.schedules.CosineDecay(
            0.0 if warmup else rate,
            decay_steps=max(total_steps - warmup, 1),
            warmup_target=rate if warmup else None,
            warmup_steps=warmup,
        )
    elif warmup:
        # Decays to the rate itself: a rise and then a constant.
        rate = keras.optimizers.schedules.CosineDecay(
            0.0, decay_steps=1, alpha=1.0, warmup_target=rate, warmup_steps=warmup
        )
    if settings.optimizer == "adagrad":
        return keras.optimizers.Adagrad(
            rate,
            initial_accumulator_value=settings.initial_accumulator_value,
            epsilon=0.0,
            global_clipnorm=settings.clip_norm,
        )
    kind = {"adamw": keras.optimizers.AdamW, "lion": keras.optimizers.Lion}
    return kind[settings.optimizer](
        rate, weight_decay=settings.weight_decay, global_clipnorm=settings.clip_norm
    )


def count_steps(settings: Settings, corpus: Corpus) -> int:
    """How many steps a run's epochs have together.

    Args:
        settings: `Settings`.
        corpus: `Corpus`.
    """
    # Of each epoch's own plan: a long sentence makes a long row of the one it is in.
    plans = (
        StreamPlan(corpus.offsets, settings.batch_size, settings.seed, epoch)
        for epoch in range(settings.epochs)
    )
    return sum(plan.steps(settings.unroll) for plan in plans)


def prepare_model(
    settings: Settings, corpus: Corpus, total_steps: int | None = None
) -> ElmoBiLM:
    """A run's model, compiled, with an optimizer that has its slots.

    Args:
        settings: `Settings`.
        corpus: `Corpus` to train on.
        total_steps: int, what `count_steps` told, or None to count them.
    """
    if total_steps is None:
        total_steps = count_steps(settings, corpus)
    model = build_model(settings, corpus.vocabulary)
    optimizer = build_optimizer(settings, total_steps)
    compile_model(model, optimizer)
    optimizer.build(model.trainable_variables)
    return model


def compile_model(model: ElmoBiLM, optimizer) -> None:
    """`model.compile`, with XLA on TensorFlow: a step is twice as fast (small, CPU)."""
    on_tensorflow = keras.backend.backend() == "tensorflow"
    model.compile(optimizer=optimizer, jit_compile=True if on_tensorflow else "auto")


def usable_negatives(settings: Settings, vocabulary) -> int | None:
    """How many negatives a vocabulary admits: None, with a warning, for too few words.

    The sampled softmax then gives way to the full one.
    """
    number = settings.num_negatives
    if number is not None and number >= len(vocabulary):
        warnings.warn(
            f"The vocabulary has {len(vocabulary)} words, not more than "
            f"num_negatives (={number}): the full softmax is used.",
            UserWarning,
            stacklevel=2,
        )
        return None
    if number is not None:
        vocabulary.check_order()
    return number


def take_over(model: ElmoBiLM, source: ElmoBiLM) -> dict:
    """Gives `model` the weights of a trained one, word for word where they differ.

    The words of the vocabulary that `source` knows take their row of its softmax and,
    for word input, of its table; the others keep their new ones, but for the bias: it
    is as much above their counts' log odds as the known words' are on average, and
    the smallest that `source` has where there are no counts.

    Args:
        model: `ElmoBiLM`, with the vocabulary to train with.
        source: `ElmoBiLM` of the same sizes.

    Returns:
        dict: "known_words" and "new_words", numbers.

    Raises:
        ValueError: when the models are of other sizes.
    """
    ours, theirs = model.backbone, source.backbone
    config, other = ours.get_config(), theirs.get_config()
    free = {"name", "trainable", "dtype", "dropout", "mix_weights", "gamma"}
    free |= {"vocabulary_size", "start_token_id", "end_token_id", "keep_boundaries"}
    wrong = [
        f"`{name}` is {config[name]!r}, the model's is {other[name]!r}"
        for name in config
        if name not in free and config[name] != other[name]
    ]
    if model.tie_embeddings != source.tie_embeddings:
        wrong.append(
            f"`tie_embeddings` is {model.tie_embeddings}, the model's is "
            f"{source.tie_embeddings}"
        )
    if wrong:
        raise ValueError(
            "`init_from` must be a model of the run's sizes: " + "; ".join(wrong) + "."
        )
    known = theirs.vocabulary
    rows = [
        (row, known.ids([token])[0] - 1)
        for row, token in enumerate(ours.vocabulary.tokens)
        if token in known
    ]
    new = np.ones(len(ours.vocabulary), bool)
    if rows:
        new[[row for row, _ in rows]] = False

    def move(variable, old):
        values = np.array(keras.ops.convert_to_numpy(variable))
        old = keras.ops.convert_to_numpy(old)
        for row, old_row in rows:
            values[row] = old[old_row]
        variable.assign(values)
        return values

    if ours.input_kind == "words":
        move(ours.token_embedder.table, theirs.token_embedder.table)
    else:
        ours.token_embedder.set_weights(theirs.token_embedder.get_weights())
    ours.encoder.set_weights(theirs.encoder.get_weights())
    bias = move(model.softmax.bias, source.softmax.bias)
    if ours.vocabulary.counts is None or new.all():
        bias[new] = keras.ops.convert_to_numpy(source.softmax.bias).min()
    else:
        odds = _log_odds(ours.vocabulary)
        bias[new] = odds[new] + (bias - odds)[~new].mean()
    model.softmax.bias.assign(bias)
    if not model.tie_embeddings:
        move(model.softmax.kernel, source.softmax.kernel)
    return {"known_words": len(rows), "new_words": int(new.sum())}


def take_over_slots(model: ElmoBiLM, preset, vocabulary) -> bool:
    """Gives a model's Adagrad the accumulators that a preset keeps, where both are.

    Steps are counted anew: a schedule of the run's begins at its own first one.

    Args:
        model: compiled `ElmoBiLM`.
        preset: what `ElmoBiLM.from_preset` takes; one made from a training checkpoint.
        vocabulary: the preset's `Vocabulary`; words are found by name.

    Returns:
        bool, whether there were any.
    """
    path = resolve(preset) / STATE_FILE
    optimizer = model.optimizer
    if not isinstance(optimizer, keras.optimizers.Adagrad) or not path.is_file():
        return False
    state = TrainingState.read(path, model, vocabulary)
    state.step = 0
    state.restore(model, optimizer, vocabulary)
    return bool(state.accumulators)
