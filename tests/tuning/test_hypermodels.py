"""The two hypermodels: what trials train, what they score, what is kept of them."""

import dataclasses
import sys

import keras
import keras_tuner
import numpy as np
import pytest

from keras_elmo import ElmoBiLM, training
from keras_elmo.tasks.train import score_model
from keras_elmo.training.run_directory import last_row
from keras_elmo.tuning import BiLMHyperModel, ElmoTaskHyperModel, Search
from keras_elmo.tuning.bilm_hypermodel import NEVER, _Looks
from tests.models_for_tests import character_backbone
from tests.tasks import task_files
from tests.tasks.test_train import examples as text_examples
from tests.training.conftest import SETTINGS
from tests.tuning.long_search import token_classifier

once = pytest.mark.once
# A recipe's sizes are too large for tests: all are set, and these are searched.
SEARCHED = {"hidden_dim": [8, 12], "learning_rate": [0.01, 0.02]}
FIXED = {**SETTINGS, "epochs": 1, "unroll": 10, "batch_size": 8, "num_layers": 1}


def bilm(corpus, held_out, ranges=None, **options):
    ranges = SEARCHED if ranges is None else ranges
    fixed = {k: v for k, v in FIXED.items() if k not in ranges}
    return BiLMHyperModel(
        corpus, held_out, "tiny", fixed, ranges, list(ranges), looks=2, **options
    )


def values_of(hypermodel, **values):
    hp = keras_tuner.HyperParameters()
    hypermodel.declare_hyperparameters(hp)
    hp.values.update(values)
    hp.ensure_active_values()
    return hp


def test_a_search_of_a_biLM_from_trials_to_a_preset(
    corpus,
    held_out,
    tmp_path,
    monkeypatch,
):
    # KerasTuner's own tuners fail without it on TensorFlow.
    for name in [n for n in sys.modules if n.partition(".")[0] == "tensorboard"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    hypermodel = bilm(corpus, held_out)
    search = Search(hypermodel, tmp_path / "search", max_trials=2)
    search.search()
    rows = search.trials.rows()
    assert [row["status"] for row in rows] == ["completed", "completed"]
    search.take_best(tmp_path / "best")
    model = ElmoBiLM.from_preset(tmp_path / "best")
    best = search.best_settings()
    assert model.backbone.hidden_dim == best.hidden_dim
    # What the table says of it is what `keras-elmo evaluate` says of the preset.
    sentences = list(hypermodel._sentences())
    found = training.perplexity(model, sentences, corpus.vocabulary)["perplexity"]
    assert found == pytest.approx(search.best().score, rel=1e-4)
    folder = tmp_path / "search" / "trials" / "trial_0"
    assert sorted(path.name for path in folder.iterdir()) == [
        *("result.json", "run", "trial.json")
    ]
    assert (folder / "run" / "log.csv").exists()
    assert not (folder / "run" / "checkpoints").exists()


@once
def test_hyperbands_later_rounds_go_on_as_if_never_stopped(
    corpus,
    held_out,
    tmp_path,
):
    hypermodel = bilm(corpus, held_out)
    hp = values_of(hypermodel)
    weights = []
    for name, plan in {"straight": [9], "halves": [3, 9]}.items():
        previous = None
        for epochs in plan:
            folder = tmp_path / f"{name}_{epochs}"
            model = hypermodel.build(hp)
            hypermodel.fit(hp, model, epochs=epochs, folder=folder, previous=previous)
            previous = folder
        weights.append(model.backbone.get_weights())
    steps = last_row(tmp_path / "halves_3" / "run")["step"]
    assert steps == 2  # a third of six
    for one, other in zip(*weights, strict=True):
        np.testing.assert_array_equal(one, other)


@once
def test_a_loss_that_is_no_number_is_a_failed_trial(corpus, held_out):
    hypermodel = bilm(corpus, held_out, {"learning_rate": [0.01, 1e30]})
    hp = values_of(hypermodel, learning_rate=1e30)
    with (
        np.errstate(all="ignore"),
        pytest.raises(keras_tuner.errors.FailedTrialError, match=r"NaN|1e\+30"),
    ):
        hypermodel.fit(hp, hypermodel.build(hp))


@once
def test_keras_tuners_own_tuner_takes_it(corpus, held_out, tmp_path):
    hypermodel = bilm(corpus, held_out)
    tuner = keras_tuner.RandomSearch(
        hypermodel, hypermodel.objective, max_trials=1, directory=tmp_path
    )
    tuner.search()
    (model,) = tuner.get_best_models()
    (trial,) = tuner.oracle.get_best_trials()
    sentences = list(hypermodel._sentences())
    found = training.perplexity(model, sentences, corpus.vocabulary)["perplexity"]
    assert found == pytest.approx(trial.score, rel=1e-5)


class Weights:
    """A model of one number."""

    def __init__(self):
        self.value = 0

    def get_weights(self):
        return self.value

    def set_weights(self, value):
        self.value = value


@once
@pytest.mark.parametrize(
    "perplexities, ends, kept",
    [
        ([9, 8, 7, 6], None, 3),
        ([9, 8, 8.5, 8.5], 3, 1),
        ([9, 9.5, 8, 9, 9], 4, 2),
        ([9, 9.5, 8.9], None, 2),
    ],
)
def test_a_trial_ends_without_progress_and_keeps_its_best_look(
    perplexities, ends, kept
):
    model, checked = Weights(), []
    looks = _Looks(model, 2, lambda: checked.append(1))
    ended = None
    for number, perplexity in enumerate(perplexities):
        model.value = number
        assert not looks.watch({"loss": 1.0})
        if looks.watch({"loss": 1.0, "perplexity": perplexity}):
            ended = number
            break
    looks.restore()
    assert (ended, model.value) == (ends, kept)
    assert len(checked) == 2 * ((ends or len(perplexities) - 1) + 1)


@once
def test_by_default_sizes_filters_and_training_are_searched(
    corpus,
    held_out,
):
    found = {one.name: one for one in BiLMHyperModel(corpus, held_out, "tiny").ranges}
    assert found["hidden_dim"].spec == [128, 256, 512]
    assert found["char_cnn_filters"].spec[0] == ((1, 8), (2, 16), (3, 32), (4, 64))
    assert set(found) == {
        *("hidden_dim", "projection_dim", "num_layers", "char_cnn_filters", "dropout"),
        *("optimizer", "adagrad_learning_rate", "adamw_learning_rate"),
        *("lion_learning_rate", "batch_size", "unroll"),
    }
    assert not {one.setting for one in found.values()} & set(NEVER)


@once
def test_what_belongs_to_an_optimizer_goes_with_it(corpus, held_out):
    for fixed, norm in (({}, 10.0), ({"clip_norm": 5.0}, 5.0)):
        hypermodel = BiLMHyperModel(corpus, held_out, "tiny", fixed)
        hp = values_of(hypermodel, optimizer="adagrad")
        settings = hypermodel.settings_of(hp)
        assert 0.05 <= settings.learning_rate <= 0.5
        assert (settings.schedule, settings.scale_loss) == ("constant", True)
        assert settings.clip_norm == norm
    first = hypermodel.settings_of(values_of(hypermodel))
    same = dataclasses.replace(
        hypermodel.settings, log_steps=1, evaluate_steps=1, checkpoint_steps=1
    )
    assert first == same  # the first trial is the recipe's
    paper = BiLMHyperModel(corpus, held_out, "tiny-paper")
    settings = paper.settings_of(values_of(paper, optimizer="lion"))
    assert (settings.schedule, settings.clip_norm) == ("cosine", 1.0)


def test_a_search_of_a_task_from_trials_to_a_file(tmp_path):
    hypermodel = token_classifier()
    before = [np.array(weight) for weight in hypermodel.backbone.get_weights()]
    search = Search(hypermodel, tmp_path / "search", max_trials=1)
    assert search.oracle.objective.name == "f1"
    search.search()
    search.take_best(tmp_path / "best.keras")
    model = keras.saving.load_model(tmp_path / "best.keras")
    found = score_model(hypermodel.task, model, hypermodel.dev, 32)
    assert found["f1"] == pytest.approx(search.best().score, abs=0.05)  # float16
    hp = values_of(hypermodel, fine_tune=True)
    tuned = hypermodel.build(hp)
    hypermodel.fit(hp, tuned)
    after = hypermodel.backbone.get_weights()
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    learned = tuned.embedding.backbone.get_weights()
    assert any((one != other).any() for one, other in zip(before, learned, strict=True))


@once
def test_a_task_whose_loss_is_no_number_is_a_failed_trial():
    found = text_examples()
    hypermodel = ElmoTaskHyperModel(
        "text-classifier",
        found,
        text_examples(8, 1),
        character_backbone(),
        {"learning_rate": 1e30, "rnn_dim": 4},
    )
    assert hypermodel.objective == keras_tuner.Objective("accuracy", "max")
    hp = values_of(hypermodel)
    with np.errstate(all="ignore"), pytest.raises(keras_tuner.errors.FailedTrialError):
        hypermodel.fit(hp, hypermodel.build(hp))


@once
@pytest.mark.parametrize("task", task_files.TASKS)
def test_each_task_has_its_ranges_and_every_choice_can_be_built(task, tmp_path):
    from keras_elmo.tasks.kinds import TASKS
    from keras_elmo.tasks.settings import TaskSettings

    paths = task_files.write_files(tmp_path, task)
    train = TASKS[task].read(paths["train"], TaskSettings())
    hypermodel = ElmoTaskHyperModel(
        task, train, train, character_backbone(), {"rnn_dim": 4}
    )
    names = {one.setting for one in hypermodel.ranges}
    assert {"layers", "layer_norm", "elmo_dropout", "mix_regularizer"} <= names
    assert {"num_mixes", "fine_tune", "learning_rate", "dropout"} <= names
    assert ("num_rnn_layers" in names) is (task == "token-classifier")
    assert ("kind" in names) is (task == "text-classifier")
    wanted = {"layers": "top", "num_mixes": 2, "layer_norm": True, "fine_tune": True}
    hp = values_of(hypermodel, **wanted)
    model, settings = hypermodel.build(hp), hypermodel.settings_of(hp)
    config = model.embedding.get_config()
    assert (config["layers"], config["num_mixes"]) == ("top", 2)
    assert config["layer_norm"] and config["trainable_backbone"]
    assert settings.mix_regularizer == 0.0 and settings.learning_rate <= 1e-3
    first = hypermodel.settings_of(values_of(hypermodel))
    assert first == TaskSettings(rnn_dim=4, learning_rate=1e-3)
    with pytest.raises(ValueError, match="'epochs' cannot be searched"):
        ElmoTaskHyperModel(
            task, train, train, hypermodel.backbone, ranges={"epochs": [1, 2]}
        )
