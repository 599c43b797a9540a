"""Training of task models: what is kept, when it ends, what a seed decides."""

import dataclasses
import random

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.tasks import encoding, train
from keras_elmo.tasks.kinds import TASKS, Examples, TextClassifierTask
from keras_elmo.tasks.settings import TaskSettings
from keras_elmo.tasks.tags import span_scores
from keras_elmo.tasks.train import Fitting, build_model
from tests.models_for_tests import character_backbone, word_backbone
from tests.tasks.fittings import Scripted, examples, fitting, settings
from tests.tasks.task_files import sentences, write_files

once = pytest.mark.once


@once
@pytest.mark.parametrize(
    "scores, patience, best, epochs, fine_tune",
    [
        ([0.1, 0.9, 0.2, 0.3], 5, 2, 4, False),  # not the last epoch
        ([0.1, 0.9, 0.2, 0.3], 5, 2, 4, True),
        ([0.5, 0.4, 0.3, 0.9], 2, 1, 3, False),  # patience ends it before the best
        ([0.5, 0.4, 0.6, 0.5, 0.5, 0.9], 2, 3, 5, False),  # from the best so far
        ([0.5, 0.5, 0.5], 2, 1, 3, False),  # of equal ones the first
        ([0.0, 0.0], 3, 1, 2, False),
        ([0.1, 0.2, 0.3], 1, 3, 3, False),
        ([0.0, 0.0, 0.0, 0.1, 0.1, 0.1], 2, 4, 6, False),  # none before a score
    ],
)
def test_the_best_epochs_weights_are_kept(scores, patience, best, epochs, fine_tune):
    task, lines = Scripted(*scores), []
    run = fitting(
        settings(
            epochs=len(scores),
            patience=patience,
            fine_tune=fine_tune,
            frozen_epochs=0,
        ),
        task,
        log=lines.append,
    )
    result = run.run()
    assert result == {"accuracy": scores[best - 1], "epoch": best, "epochs": epochs}
    assert [entry["epoch"] for entry in run.history] == list(range(1, epochs + 1))
    assert [entry["accuracy"] for entry in run.history] == scores[:epochs]
    assert len(lines) == epochs and lines[0].startswith("epoch 1  loss ")
    for kept, seen in zip(run.trained.get_weights(), task.seen[best - 1], strict=True):
        np.testing.assert_array_equal(kept, seen)
    # Every epoch had weights of its own: the check above could have failed.
    assert any(
        (one != other).any()
        for one, other in zip(task.seen[0], task.seen[-1], strict=True)
    )
    if not fine_tune:
        for own, kept in zip(
            encoding._own_weights(run.model),
            encoding._own_weights(run.trained),
            strict=True,
        ):
            np.testing.assert_array_equal(
                keras.ops.convert_to_numpy(own), keras.ops.convert_to_numpy(kept)
            )


@once
def test_a_loss_that_is_no_number_is_told_with_epoch_and_rate():
    run = fitting(settings(learning_rate=1e30, epochs=5))
    with np.errstate(all="ignore"), pytest.raises(ArithmeticError) as error:
        run.run()
    assert "in epoch " in str(error.value) and "1e+30" in str(error.value)
    assert "--set learning_rate" in str(error.value)


class Broken(TextClassifierTask):
    """Its model's weights are no numbers after the epoch's last step."""

    def score(self, model, inputs, examples, batch_size):
        model.set_weights([w + np.float32("nan") for w in model.get_weights()])
        return super().score(model, inputs, examples, batch_size)


@once
def test_weights_that_are_no_numbers_are_not_kept_as_the_best():
    # The last step's weights are in no loss: with one epoch nothing else would tell.
    run = fitting(settings(learning_rate=0.25, epochs=1), Broken())
    with pytest.raises(ArithmeticError, match=r"in epoch 1, at a .*rate of 0\.25"):
        run.run()


@pytest.mark.parametrize("other", [False, pytest.param(True, marks=once)])
def test_a_seed_decides_the_scores(other):
    # Dropout, the order and the weights: all that is drawn. No RNN: compiled fast.
    changes = {"num_rnn_layers": 0, "dropout": 0.4, "elmo_dropout": 0.3}
    tokens = sentences(16, 0)
    parts = Examples({"tokens": tokens}, [[t[:1] for t in row] for row in tokens])
    backbone, stored, histories = character_backbone(), {}, []
    for seed in (3, 4 if other else 3):
        random.random()  # whatever else the process draws
        wanted = settings(seed=seed, **changes)
        model = build_model(TASKS["token-classifier"], parts, wanted, backbone)
        run = Fitting(
            TASKS["token-classifier"], model, parts, parts, wanted, stored=stored
        )
        run.run()
        histories.append([entry["loss"] for entry in run.history])
    assert (histories[0] == histories[1]) is not other


@once
def test_a_seed_decides_the_weights_and_leaves_the_process_alone():
    backbone = character_backbone()
    state = random.getstate()
    made = [
        build_model(TASKS["text-classifier"], examples(), settings(seed=s), backbone)
        for s in (1, 1, 2)
    ]
    assert random.getstate() == state
    one, same, other = (model.get_layer("classes").get_weights()[0] for model in made)
    np.testing.assert_array_equal(one, same)
    assert (one != other).all()


@once
def test_examples_come_in_another_order_each_epoch():
    run = fitting(settings(batch_size=2, epochs=1))
    orders = []
    for _ in range(3):
        orders.append([rows.tolist() for rows in run.batches.plan])
        run.run()
    assert run.batches.seed == settings().seed
    assert orders[0] != orders[1] != orders[2] != orders[0]


@once
def test_settings_reach_the_model():
    wanted = settings(
        layers="top",
        num_mixes=2,
        layer_norm=True,
        elmo_dropout=0.25,
        tokenizer="unicode",
        fine_tune=True,
        kind="biattentive",
        rnn_dim=5,
        dropout=0.1,
    )
    model = build_model(
        TASKS["text-classifier"], examples(), wanted, character_backbone()
    )
    config = model.embedding.get_config()
    for name in ("layers", "num_mixes", "layer_norm", "tokenizer"):
        assert config[name] == getattr(wanted, name)
    assert config["dropout"] == 0.25 and config["trainable_backbone"]
    assert config["mix_regularizer"] is None
    config = model.get_config()
    assert (config["kind"], config["rnn_dim"], config["dropout"]) == (
        *("biattentive", 5),
        0.1,
    )
    assert model.classes == ["b", "l", "s"]
    assert wanted.adam_learning_rate == 3e-4
    assert settings().adam_learning_rate == 1e-3
    assert settings(learning_rate=0.5, fine_tune=True).adam_learning_rate == 0.5
    tagger = build_model(
        TASKS["token-classifier"],
        Examples({"tokens": [["a", "b"]]}, [["B-x", "I-x"]]),
        settings(crf=True, scheme="IOB2", num_rnn_layers=2, mix_regularizer=0.5),
        character_backbone(),
    )
    config = tagger.get_config()
    assert config["crf"] and config["scheme"] == "IOB2" and tagger.crf is not None
    assert config["num_rnn_layers"] == 2
    (penalty,) = tagger.losses
    # Equal weights are 0 before the softmax.
    assert keras.ops.convert_to_numpy(keras.ops.stop_gradient(penalty)) == 0.0
    tagger.embedding.mixes.mixes[0].scalars.assign([1.0, 0.0, -2.0])
    (penalty,) = tagger.losses
    penalty = keras.ops.convert_to_numpy(keras.ops.stop_gradient(penalty))
    assert penalty == pytest.approx(0.5 * 5.0, rel=1e-6)
    answerer = build_model(
        TASKS["question-answering"], None, settings(), character_backbone()
    )
    assert answerer.tokenizer == "whitespace"


@once
@pytest.mark.parametrize(
    "changes, told",
    [
        ({"epochs": 0}, "epochs=0"),
        ({"patience": 0}, "patience=0"),
        ({"batch_size": -1}, "batch_size=-1"),
        ({"num_rnn_layers": -1}, "num_rnn_layers=-1"),
        ({"embedding_dim": 0}, "embedding_dim=0"),
        ({"seed": -1}, "seed=-1"),
        ({"clip_norm": 0.0}, r"clip_norm=0\.0"),
        ({"learning_rate": float("nan")}, "learning_rate=nan"),
        ({"learning_rate": float("inf")}, "learning_rate=inf"),
        ({"learning_rate": -1.0}, r"learning_rate=-1\.0"),
        ({"dropout": 1.0}, r"dropout=1\.0"),
        ({"dropout": float("nan")}, "dropout=nan"),
        ({"elmo_dropout": -0.5}, r"elmo_dropout=-0\.5"),
        ({"mix_regularizer": -0.1}, r"mix_regularizer=-0\.1"),
        ({"mix_regularizer": float("nan")}, "mix_regularizer=nan"),
        ({"kind": "deep"}, "kind='deep'"),
        ({"scheme": "IOB1"}, "scheme='IOB1'"),
        ({"tokenizer": "spaces"}, "tokenizer='spaces'"),
    ],
)
def test_settings_that_are_none_are_refused(changes, told):
    with pytest.raises(ValueError, match=told):
        TaskSettings(**changes)


@once
def test_every_setting_is_told_about():
    for field in dataclasses.fields(TaskSettings):
        assert f"        {field.name}: " in TaskSettings.__doc__


@once
def test_a_class_that_training_never_saw_counts_as_wrong():
    task = TASKS["text-classifier"]
    dev = examples(6, 1)
    dev.gold[0] = dev.gold[1] = "never seen"
    run = fitting(settings(epochs=1), dev=dev)
    expected = run.model.predict_classes  # of the weights after the run
    found = run.run()["accuracy"]
    told = expected(dev.texts["tokens"])
    assert found == np.mean([a == b for a, b in zip(told, dev.gold, strict=True)])
    assert found <= 4 / 6 and "never seen" not in run.model.classes
    assert task.targets(run.model, dev).tolist()[:2] == [-1, -1]
    # Nothing right at all is a score, not an error.
    dev.gold[:] = ["never seen"] * 6
    assert run.score(dev) == {"accuracy": 0.0}


@once
def test_a_tag_that_training_never_saw_counts_as_wrong():
    task = TASKS["token-classifier"]
    train_set = Examples({"tokens": [["a", "b"], ["c"]]}, [["B-x", "I-x"], ["O"]])
    dev = Examples({"tokens": [["a", "b"], ["c"]]}, [["B-new", "I-x"], ["O"]])
    run = fitting(settings(epochs=1), task, train=train_set, dev=dev)
    found = run.run()
    told = run.model.predict_tags(dev.texts["tokens"])
    right = sum(
        one == other
        for row, gold in zip(told, dev.gold, strict=True)
        for one, other in zip(row, gold, strict=True)
    )
    assert found["accuracy"] == right / 3 <= 2 / 3
    assert found["f1"] == span_scores(dev.gold, told)["f1"]
    assert task.targets(run.model, dev)[0].tolist() == [-1, 1]
    assert task.metric(run.model) == "f1"


@once
def test_tags_that_mark_no_spans_have_an_accuracy_alone():
    task = TASKS["token-classifier"]
    parts = Examples({"tokens": [["a", "b"], ["c"]]}, [["DET", "NOUN"], ["X"]])
    run = fitting(settings(epochs=1), task, train=parts, dev=parts)
    assert set(run.run()) == {"accuracy", "epoch", "epochs"}


@once
def test_stored_layers_serve_the_next_fitting_too(monkeypatch):
    def counting(sentences, *arguments, **options):
        asked.append(len(sentences))
        return real(sentences, *arguments, **options)

    asked, real = [], encoding.embed_iter
    monkeypatch.setattr(encoding, "embed_iter", counting)
    backbone, stored = character_backbone(), {}
    sets = examples(), examples(8, 1)
    task, histories = TASKS["text-classifier"], []
    for _ in range(2):
        model = build_model(task, sets[0], settings(), backbone)
        run = Fitting(task, model, *sets, settings(), stored=stored)
        run.run()
        histories.append(run.history)
    assert len(asked) == 2  # both sets, once each
    assert histories[0] == histories[1]
    # Other sentences are other layers.
    assert run.score(examples(5, 2)) == run.score(examples(5, 2))
    assert len(asked) == 4


@once
def test_word_input_is_trained_too():
    words = [word for row in sentences(16, 0) for word in row]
    run = fitting(
        settings(epochs=1), backbone=word_backbone(tuple(dict.fromkeys(words)))
    )
    assert 0.0 <= run.run()["accuracy"] <= 1.0


@once
def test_marked_tokens_go_into_the_model(tmp_path):
    task, wanted = TASKS["pair-classifier"], settings(epochs=1)
    paths = write_files(tmp_path, "pair-classifier", targets=True)
    parts = [task.read(paths[part], wanted) for part in ("train", "dev")]
    run = fitting(wanted, task, train=parts[0], dev=parts[1])
    assert run.model.targets
    found = run.run()
    told = run.model.predict_classes(parts[1].texts)
    assert found["accuracy"] == np.mean(
        [a == b for a, b in zip(told, parts[1].gold, strict=True)]
    )
    moved = {**parts[1].texts, "first_target": [2] * 10, "second_target": [4] * 10}
    scores = [
        train.TaskBatches(run.encode(Examples(texts, parts[1].gold)), batch_size=10)[0]
        for texts in (parts[1].texts, moved)
    ]
    one, other = (run.trained.predict_on_batch(x) for x in scores)
    assert np.abs(one - other).max() > 1e-6


@once
def test_random_vectors_are_trained_without_a_biLM():
    task, found = TASKS["text-classifier"], examples()
    vocabulary = keras_elmo.text.build_vocabulary(found.texts["tokens"])
    embedding = keras.layers.Embedding(len(vocabulary) + 1, 5, mask_zero=True)
    model = build_model(task, found, settings(), None, embedding, vocabulary)
    run = Fitting(task, model, found, examples(8, 1), settings())
    assert run.trained is run.model
    before = np.array(embedding.get_weights()[0])
    run.run()
    assert run.trained is model
    changed = (embedding.get_weights()[0] != before).any(axis=1)
    seen = vocabulary.ids(sorted({t for row in found.texts["tokens"] for t in row}))
    assert set(np.flatnonzero(changed)) <= set(seen.tolist()) and changed.sum() > 5
