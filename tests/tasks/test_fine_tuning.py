"""What is trained along with the biLM, what before, and what is held still."""

import numpy as np
import pytest

from tests.models_for_tests import character_backbone
from tests.tasks.fittings import Scripted, fitting, settings

once = pytest.mark.once


@once
@pytest.mark.parametrize("fine_tune", [False, True])
def test_a_biLM_is_held_still_to_the_bit_unless_it_is_tuned(fine_tune):
    backbone = character_backbone()
    before = [np.array(w) for w in backbone.get_weights()]
    run = fitting(settings(fine_tune=fine_tune, frozen_epochs=0), backbone=backbone)
    run.run()
    pairs = list(zip(before, backbone.get_weights(), strict=True))
    same = [old.tobytes() == new.tobytes() for old, new in pairs]
    assert not any(same) if fine_tune else all(same)
    assert (run.trained is run.model) is fine_tune
    # The mix is learned in both.
    assert run.model.embedding.gamma != 1.0
    # The model that was fitted brings no optimizer's slots into a file.
    assert not run.model.compiled and not getattr(run.model, "optimizer", None)


@once
def test_before_fine_tuning_the_tasks_own_layers_learn_alone():
    """What they reach with the biLM held still, they go on from, and keep if best."""
    # Two epochs and what the whole model scores then; of the next two, none is better.
    task, lines = Scripted(0.2, 0.6, 0.6, 0.5, 0.4), []
    backbone = character_backbone()
    before = [np.array(w) for w in backbone.get_weights()]
    run = fitting(
        settings(epochs=9, patience=2, fine_tune=True, frozen_epochs=2),
        task,
        backbone,
        lines.append,
    )
    result = run.run()
    assert result == {"accuracy": 0.6, "epoch": 2, "epochs": 4}
    assert ["held still" in line for line in lines] == [True, True, False, False]
    assert [entry["epoch"] for entry in run.history] == [1, 2, 3, 4]
    for kept, seen in zip(run.model.get_weights(), task.seen[2], strict=True):
        np.testing.assert_array_equal(kept, seen)
    for old, new in zip(before, backbone.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    # The fine-tuned epochs had other weights, the biLM's too.
    assert len(task.seen[2]) == len(task.seen[3]) > len(task.seen[1])
    same = [(a == b).all() for a, b in zip(task.seen[2], task.seen[3], strict=True)]
    assert not any(same)
