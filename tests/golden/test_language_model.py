"""Losses, gradients, states and Adagrad steps equal those of bilm-tf's `train()`."""

import keras
import numpy as np
import pytest

import keras_elmo
from tests.golden.support import load, read_json
from tests.golden.trained import (
    DIRECTIONS,
    fed,
    model_of,
    named_variables,
    negatives,
    read_named,
    trained_folders,
)
from tests.reference.published import from_training_names

STEPS = 4
# golden/training/README.md
LOSS = {"rtol": 2e-6}
GRADIENT = {"atol": 2e-6, "rtol": 1e-4}
VARIABLES = {"atol": 5e-6}


class Recorder(keras.optimizers.Optimizer):
    """Keeps each variable's gradient, clipped as the optimizer clips, and no more."""

    def build(self, variables):
        super().build(variables)
        self.kept = self.add_optimizer_variables(variables, "gradient")

    def update_step(self, gradient, variable, learning_rate):
        self.assign(self.kept[self._get_variable_index(variable)], gradient)


def adagrad(options):
    return keras.optimizers.Adagrad(
        options.get("learning_rate", 0.2),
        initial_accumulator_value=1.0,
        epsilon=0.0,
        global_clipnorm=options["all_clip_norm_val"],
    )


def batch_of(step, number):
    x, y, weights = fed(step, f"step{number}/batch/")
    if f"step{number}/sampler_forward/sampled_ids" in step:
        x["negatives"] = negatives(step, number, y["forward"].shape)
    return x, y, weights


def state_of(model):
    return {
        f"{direction}_{layer}/{name}": keras.ops.convert_to_numpy(variable)
        for direction in DIRECTIONS
        for layer, pair in enumerate(model.training_state.states[direction])
        for name, variable in zip("hc", pair, strict=True)
    }


@pytest.mark.parametrize("sampled", [False, True])
def test_four_steps_of_adagrad(golden, tmp_path, sampled):
    compared = []
    for folder in trained_folders(golden, sampled):
        options, step = read_json(folder / "options.json"), load(folder / "steps.npz")
        model = model_of(folder, tmp_path, 0, batch_size=4)
        optimizer = adagrad(options)
        model.compile(optimizer=optimizer)
        for number in range(1, STEPS + 1):
            x, y, weights = batch_of(step, number)
            logs = model.train_on_batch(x, y, weights, return_dict=True)
            np.testing.assert_allclose(
                logs["loss"], step[f"step{number}/total_loss"], **LOSS
            )
            model.reset_metrics()
            for name, found in state_of(model).items():
                np.testing.assert_allclose(
                    found, step[f"step{number}/state_out/{name}"], atol=5e-6
                )
            if number in (1, STEPS):
                stored = load(folder / f"variables_after_step{number}.npz")
                check_variables(model, optimizer, stored, folder.name)
        compared.append(folder.name)
    wanted = {"char_sampled"} if sampled else {"char", "word", "word_shared"}
    assert wanted <= set(compared)


def check_variables(model, optimizer, stored, name):
    """Every variable and its Adagrad slot."""
    expected = from_training_names(stored)
    found = read_named(model, lambda variable: variable)
    assert set(found) == set(expected)
    for weight, array in found.items():
        np.testing.assert_allclose(
            array, expected[weight], **VARIABLES, err_msg=f"{name} {weight}"
        )
    trained = {v.path: i for i, v in enumerate(model.trainable_variables)}
    slots = {
        key.removesuffix("/Adagrad"): array
        for key, array in stored.items()
        if key.endswith("/Adagrad")
    }
    slots = from_training_names(slots)
    accumulators = [v for v in optimizer.variables if "accumulator" in v.path]
    assert len(accumulators) == len(trained)
    found = read_named(model, lambda variable: accumulators[trained[variable.path]])
    for weight, array in found.items():
        np.testing.assert_allclose(
            array, slots[weight], **VARIABLES, err_msg=f"{name} slot {weight}"
        )


@pytest.mark.parametrize("sampled", [False, True])
def test_gradients_and_their_norm(golden, tmp_path, sampled):
    """Unclipped; what clipping does to them is part of the steps above."""
    for folder in trained_folders(golden, sampled):
        step = load(folder / "steps.npz")
        model = model_of(folder, tmp_path, 0, 4)
        recorder = Recorder(1.0)
        model.compile(optimizer=recorder)
        x, y, weights = batch_of(step, 1)
        model.train_on_batch(x, y, weights)
        index = {v.path: i for i, v in enumerate(model.trainable_variables)}
        found = read_named(model, lambda v, i=index, r=recorder: r.kept[i[v.path]])
        prefix = "step1/grad/"
        expected = from_training_names(
            {
                key.removeprefix(prefix): array
                for key, array in step.items()
                if key.startswith(prefix)
            }
        )
        for name, array in found.items():
            np.testing.assert_allclose(
                array, expected[name], **GRADIENT, err_msg=f"{folder.name} {name}"
            )
        # A tied matrix is one variable with one gradient.
        assert len(found) == len(named_variables(model))
        squares = [(g.astype("float64") ** 2).sum() for g in found.values()]
        np.testing.assert_allclose(
            np.sqrt(sum(squares)), step["step1/global_norm"], rtol=1e-5
        )


def test_losses_of_each_direction(golden, tmp_path):
    for sampled in (False, True):
        for folder in trained_folders(golden, sampled):
            step = load(folder / "steps.npz")
            model = model_of(folder, tmp_path, 0, 4)
            x, y, _ = batch_of(step, 1)
            hidden = model.predict_on_batch(x)
            losses = []
            for direction in DIRECTIONS:
                if sampled:
                    values = model.sampled_nll(
                        hidden[direction], y[direction], x["negatives"][direction]
                    )
                else:
                    values = model.nll(hidden[direction], y[direction])
                losses.append(keras.ops.convert_to_numpy(values).mean())
            np.testing.assert_allclose(
                losses, step["step1/individual_losses"], **LOSS, err_msg=folder.name
            )


def test_perplexities_of_the_stored_weights_on_the_stored_text(golden, tmp_path):
    """`test()`: full softmax, the state carried over all batches from zeros."""
    compared = []
    for path in sorted((golden / "training").glob("*/test.npz")):
        folder = path.parent
        if not read_json(folder / "options.json")["bidirectional"]:
            continue
        test = load(path)
        step = 300 if folder.name.endswith("_long") else STEPS
        model = model_of(folder, tmp_path, step, batch_size=3)
        model.compile()
        losses = []
        for number in range(len(test["losses"])):
            model.reset_metrics()
            logs = model.test_on_batch(
                *fed(test, "batch/", at=number), return_dict=True
            )
            losses.append(logs["loss"])
        np.testing.assert_allclose(losses, test["losses"], rtol=1e-5)
        np.testing.assert_allclose(
            np.exp(np.mean(losses)), test["perplexity"], rtol=1e-5
        )
        compared.append(folder.name)
    assert {"char", "word_shared", "char_sampled", "char_long"} <= set(compared)


def test_the_sampled_softmax_alone(golden):
    stored = load(golden / "training" / "sampled_softmax.npz")

    def losses(remove_accidental_hits):
        layer = keras_elmo.SampledSoftmax(remove_accidental_hits)
        return keras.ops.convert_to_numpy(
            layer(
                stored["inputs"],
                stored["labels"][:, 0].astype("int32"),
                kernel=stored["weights"],
                bias=stored["biases"],
                sampled_ids=stored["sampled_ids"].astype("int32"),
                true_expected_count=stored["true_expected_count"][:, 0],
                sampled_expected_count=stored["sampled_expected_count"],
            )
        )

    np.testing.assert_allclose(losses(True), stored["losses"], **LOSS)
    np.testing.assert_allclose(
        losses(False), stored["losses_without_hit_removal"], **LOSS
    )


def test_expected_counts_are_tensorflows(golden):
    compared = 0
    for folder in trained_folders(golden, sampled=True):
        options, step = read_json(folder / "options.json"), load(folder / "steps.npz")
        number = options["n_negative_samples_batch"]
        sampler = keras_elmo.data.LogUniformSampler(options["n_tokens_vocab"], number)
        for k in range(1, STEPS + 1):
            drawn = negatives(step, k, (4, 5))
            for direction, found in drawn.items():
                target = "next_token_id" + "_reverse" * (direction == "backward")
                rows = step[f"step{k}/batch/{target}"]
                # How many tries it took is not stored; one number fits all counts.
                fits = [
                    tries
                    for tries in range(number, 200)
                    if np.allclose(
                        sampler.expected_count(found["sampled_ids"], tries),
                        found["sampled_expected_count"],
                        rtol=1e-5,
                    )
                    and np.allclose(
                        sampler.expected_count(rows, tries),
                        found["true_expected_count"],
                        rtol=1e-5,
                    )
                ]
                assert len(fits) == 1
                compared += 1
    assert compared == 8
