"""What `keras-elmo train-task` and `keras-elmo plot-mix` do."""

import sys
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

import keras

from keras_elmo import checks
from keras_elmo.changes import read_changes, split_changes
from keras_elmo.files import atomic_path
from keras_elmo.layers import ElmoEmbedding, LayerMixes
from keras_elmo.tasks.kinds import TASKS
from keras_elmo.tasks.settings import TaskSettings
from keras_elmo.tasks.train import Fitting, build_model
from keras_elmo.tasks.word_vectors import embedding_from_word_vectors, random_embedding
from keras_elmo.text.vocabulary import build_vocabulary

RANDOM = "random"
PICTURES = (".png", ".svg", ".pdf")


def train_task(
    task: str,
    train: str | PathLike,
    dev: str | PathLike,
    output: str | PathLike,
    *,
    model: str | PathLike | None = None,
    word_vectors: str | PathLike | None = None,
    test: str | PathLike | None = None,
    changes: Iterable[str] = (),
    overwrite: bool = False,
    verbose: bool = True,
) -> dict:
    """Trains a task model from files and saves it.

    Args:
        task: a key of `TASKS`.
        train: file of examples.
        dev: file of examples; the epoch with the best score on them is kept.
        output: the `.keras` file to make.
        model: preset of the biLM.
        word_vectors: in its place, for vectors that know no context: a file of word
            vectors, or "random" for vectors that are trained along.
        test: file of examples that are scored at the end, or None.
        changes: texts of the form "name=value", see `TaskSettings`.
        overwrite: bool. Replace `output`.
        verbose: bool. Tell each epoch on stderr.

    Returns:
        dict: numbers of examples, the scores, the mix.

    Raises:
        ValueError: when an argument is none of these, or a file holds no examples.
    """
    kind = TASKS[checks.one_of("task", task, tuple(TASKS))]
    settings = TaskSettings(**read_changes(TaskSettings, split_changes(changes)))
    if (model is None) == (word_vectors is None):
        raise ValueError("Exactly one of `--model` and `--word-vectors` must be given.")
    if Path(output).suffix != ".keras":
        raise ValueError(checks.received("output", str(output), "a .keras file"))
    examples = {
        name: kind.read(path, settings)
        for name, path in {"train": train, "dev": dev, "test": test}.items()
        if path is not None
    }
    for name, path in {"dev": dev, "test": test}.items():
        if (
            name in examples
            and examples[name].texts.keys() != examples["train"].texts.keys()
        ):
            raise ValueError(
                f"`{path}` and `{train}` must both mark a token of each text, or "
                "neither."
            )
    with atomic_path(output, overwrite=overwrite) as temporary:
        embedding, vocabulary = None, None
        if word_vectors is not None:
            embedding, vocabulary = static_embedding(
                word_vectors, examples["train"], settings
            )
        made = build_model(
            kind, examples["train"], settings, model, embedding, vocabulary
        )
        log = (lambda line: print(line, file=sys.stderr)) if verbose else None
        fitting = Fitting(kind, made, examples["train"], examples["dev"], settings, log)
        scores = {"dev": fitting.run()}
        # What is told is what the file scores.
        if fitting.trained is not made:
            scores["dev"].update(fitting.score_model(examples["dev"]))
        if "test" in examples:
            scores["test"] = fitting.score_model(examples["test"])
        made.save(temporary)
    summary: dict = {f"{name}_examples": len(found) for name, found in examples.items()}
    for part, found in scores.items():
        summary.update({f"{part}_{name}": value for name, value in found.items()})
    for elmo in elmo_layers(made):
        if elmo.gamma is not None:
            weights = elmo.mix_weights
            several = isinstance(weights, list)
            summary["mix_weights"] = (
                [w.tolist() for w in weights] if several else weights.tolist()
            )
            summary["gamma"] = elmo.gamma
    return summary


def static_embedding(word_vectors, train, settings):
    """A `keras.layers.Embedding` of the training words, and their vocabulary.

    Args:
        word_vectors: file of word vectors, or "random".
        train: `Examples`.
        settings: `TaskSettings`.
    """
    sentences = [
        tokens
        for name, texts in train.texts.items()
        if not name.endswith("_target")
        for tokens in texts
    ]
    vocabulary = build_vocabulary(sentences)
    if word_vectors == RANDOM:
        dim = settings.embedding_dim
        return random_embedding(vocabulary, dim, settings.seed), vocabulary
    found = embedding_from_word_vectors(word_vectors, vocabulary, seed=settings.seed)
    print(
        f"{found.found:,} of {len(vocabulary):,} words have a vector.", file=sys.stderr
    )
    return found.layer, vocabulary


def elmo_layers(model):
    """Every `ElmoEmbedding` and `LayerMixes` of a model, those inside models too."""
    found = []
    for layer in model.layers:
        if isinstance(layer, ElmoEmbedding | LayerMixes):
            found.append(layer)
        elif isinstance(layer, keras.Model):
            found += elmo_layers(layer)
    return found


def plot_mix(model: str | PathLike, output: str | PathLike, overwrite: bool = False):
    """Draws the learned mix weights of a model's ELMo as bars.

    Args:
        model: a `.keras` file of a model with an `ElmoEmbedding`.
        output: the `.png`, `.svg` or `.pdf` file to make.
        overwrite: bool. Replace it.

    Returns:
        dict: the weights and gamma of each mix, by its name.

    Raises:
        ValueError: when `output` ends otherwise, or the model has no mix.
    """
    from keras_elmo.tasks.plot_mix import draw_mixes

    if Path(output).suffix.lower() not in PICTURES:
        rule = f"a file that ends in one of {', '.join(PICTURES)}"
        raise ValueError(checks.received("output", str(output), rule))
    mixes: dict[str, dict] = {}
    # What two models inside share is one mix.
    for elmo in dict.fromkeys(elmo_layers(keras.saving.load_model(model))):
        weights, gamma = elmo.mix_weights, elmo.gamma
        if weights is None:
            continue
        if not isinstance(weights, list):
            weights, gamma = [weights], [gamma]
        for i, (row, scale) in enumerate(zip(weights, gamma, strict=True)):
            name = elmo.name if len(weights) == 1 else f"{elmo.name} {i + 1}"
            while name in mixes:  # models inside may use one name twice
                name += "'"
            mixes[name] = {"weights": row.tolist(), "gamma": scale}
    if not mixes:
        raise ValueError(f"`{model}` holds no mix of ELMo's layers.")
    with atomic_path(output, overwrite=overwrite) as temporary:
        draw_mixes(mixes, temporary)
    return mixes
