"""Settings of a pretraining run, and the recipes they come from."""

import dataclasses
import math
from collections.abc import Mapping

from keras_elmo import checks
from keras_elmo.changes import read_changes

OPTIMIZERS = ("adagrad", "adamw", "lion")
SCHEDULES = ("constant", "cosine")
INPUTS = ("characters", "words")


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a run is made of. The defaults are those of the paper's recipe.

    Attributes:
        input_kind: "characters" or "words", what the model reads.
        hidden_dim: int, cells of each LSTM.
        projection_dim: int, size of each LSTM's output.
        num_layers: int, LSTMs a direction.
        char_cnn_filters: list of [width, number] pairs (character input).
        character_embedding_dim: int (character input).
        max_characters_per_token: int (character input).
        num_highway_layers: int (character input).
        cell_clip: float, or None.
        proj_clip: float, or None.
        use_skip_connections: bool.
        dropout: float, on each LSTM's input and on the top output.
        tie_embeddings: bool, the softmax is the word table (word input).
        unigram_start: bool. The softmax starts as the words' counts: its bias is their
            log odds and its matrix small. A word that is seldom drawn as a negative
            otherwise keeps the odds it began with for long, far too high ones.
        num_negatives: int, words the sampled softmax is taken over, or None for the
            full softmax.
        optimizer: "adagrad", "adamw" or "lion".
        learning_rate: float, the highest.
        schedule: "constant", or "cosine": falling to nothing over all epochs.
        warmup_steps: int, over which the rate rises from 0.
        initial_accumulator_value: float (Adagrad).
        weight_decay: float (AdamW, Lion).
        clip_norm: float, the gradient's global norm at most, or None.
        scale_loss: bool. The gradient is that of loss x unroll, as in bilm-tf.
        batch_size: int, rows.
        unroll: int, positions a row and batch.
        epochs: int.
        dtype: Keras' dtype policy: "float32", "mixed_bfloat16", "mixed_float16".
        seed: int, of weights, dropout, negatives and the order of sentences.
        log_steps: int, steps between two lines of the log.
        evaluate_steps: int, steps between two looks at the held-out text.
        evaluate_tokens: int, tokens of held-out text that a look takes in.
        checkpoint_steps: int, steps between two checkpoints.
    """

    input_kind: str = "characters"
    hidden_dim: int = 4096
    projection_dim: int = 512
    num_layers: int = 2
    char_cnn_filters: tuple = (
        (1, 32),
        (2, 32),
        (3, 64),
        (4, 128),
        (5, 256),
        (6, 512),
        (7, 1024),
    )
    character_embedding_dim: int = 16
    max_characters_per_token: int = 50
    num_highway_layers: int = 2
    cell_clip: float | None = 3.0
    proj_clip: float | None = 3.0
    use_skip_connections: bool = True
    dropout: float = 0.1
    tie_embeddings: bool = False
    unigram_start: bool = False
    num_negatives: int | None = 8192
    optimizer: str = "adagrad"
    learning_rate: float = 0.2
    schedule: str = "constant"
    warmup_steps: int = 0
    initial_accumulator_value: float = 1.0
    weight_decay: float = 0.0
    clip_norm: float | None = 10.0
    scale_loss: bool = True
    batch_size: int = 128
    unroll: int = 20
    epochs: int = 10
    dtype: str = "float32"
    seed: int = 0
    log_steps: int = 100
    evaluate_steps: int = 5000
    evaluate_tokens: int = 50_000
    checkpoint_steps: int = 1000

    def __post_init__(self):
        checks.one_of("input_kind", self.input_kind, INPUTS)
        checks.one_of("optimizer", self.optimizer, OPTIMIZERS)
        checks.one_of("schedule", self.schedule, SCHEDULES)
        for name in (
            *("hidden_dim", "projection_dim", "num_layers", "batch_size", "unroll"),
            *("epochs", "log_steps", "evaluate_steps", "checkpoint_steps"),
            "evaluate_tokens",
        ):
            checks.positive_int(name, getattr(self, name))
        checks.positive_int("warmup_steps", self.warmup_steps, minimum=0)
        checks.positive_int("seed", self.seed, minimum=0)
        if self.num_negatives is not None:
            checks.positive_int("num_negatives", self.num_negatives)
        for name in ("learning_rate", "initial_accumulator_value"):
            checks.positive_float(name, getattr(self, name))
        if self.clip_norm is not None:
            checks.positive_float("clip_norm", self.clip_norm)
        # `not (... )` also refuses NaN.
        if not (0 <= self.weight_decay < math.inf):
            rule = "a number of at least 0"
            raise ValueError(checks.received("weight_decay", self.weight_decay, rule))
        if self.tie_embeddings and self.input_kind != "words":
            raise ValueError("`tie_embeddings` needs `input_kind` words.")


# What may differ when a run goes on: it changes no number.
BOOKKEEPING = ("log_steps", "evaluate_steps", "evaluate_tokens", "checkpoint_steps")

_SMALL = {
    "hidden_dim": 1024,
    "projection_dim": 128,
    "num_highway_layers": 1,
    "num_negatives": 1024,
    "batch_size": 32,
}
_MODERN = {
    "unigram_start": True,
    "optimizer": "adamw",
    "learning_rate": 2e-3,
    "schedule": "cosine",
    "warmup_steps": 200,
    "scale_loss": False,
    "clip_norm": 1.0,
}
_TINY = {
    "hidden_dim": 256,
    "projection_dim": 64,
    "char_cnn_filters": ((1, 16), (2, 32), (3, 64), (4, 128)),
    "max_characters_per_token": 32,
    "num_highway_layers": 1,
    "num_negatives": 512,
    "batch_size": 32,
}
RECIPES: dict[str, dict] = {
    "paper": {},
    "small": {**_SMALL, **_MODERN},
    "tiny": {**_TINY, **_MODERN, "learning_rate": 4e-3, "epochs": 4},
    "small-paper": dict(_SMALL),
    "tiny-paper": {**_TINY, "epochs": 4},
}


def settings_of(recipe: str, changes: Mapping | None = None) -> Settings:
    """A recipe's settings with some of them changed.

    Args:
        recipe: one of `RECIPES`: "paper", "small" and "tiny", and "small-paper" and
            "tiny-paper", their sizes trained in the paper's way.
        changes: {name: value}; a value that is a str is read as the setting's type, as
            the command line gives it.

    Raises:
        ValueError: naming the recipe or setting, and what is near it.
    """
    checks.one_of("recipe", recipe, tuple(RECIPES))
    values = dict(RECIPES[recipe])
    values.update(read_changes(Settings, changes or {}))
    if "char_cnn_filters" in values:
        values["char_cnn_filters"] = tuple(map(tuple, values["char_cnn_filters"]))
    return Settings(**values)


def to_json(settings: Settings) -> dict:
    """The settings as JSON holds them."""
    values = dataclasses.asdict(settings)
    values["char_cnn_filters"] = [list(pair) for pair in settings.char_cnn_filters]
    return values
