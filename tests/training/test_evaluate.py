"""`keras-elmo evaluate`: files and a preset in, perplexities out."""

import gzip
import json

import numpy as np
import pytest

import keras_elmo
from keras_elmo.presets_head import save_language_model
from keras_elmo.training import perplexity
from keras_elmo.training.command import evaluate
from tests.models_for_tests import character_backbone, word_backbone

WORDS = ("the", "bank", "river", ".")
TEXT = "the bank .\n\n   \nthe unseen river, today .\n"
SENTENCES = [["the", "bank", "."], ["the", "unseen", "river,", "today", "."]]
# Words and one sentence marker each.
TOKENS = 3 + 5 + 2
UNKNOWN = 3


@pytest.fixture(scope="module")
def model():
    backbone = character_backbone()
    backbone.vocabulary = word_backbone(WORDS).vocabulary
    return keras_elmo.ElmoBiLM(backbone, len(backbone.vocabulary))


@pytest.fixture(scope="module")
def preset(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("evaluate") / "preset"
    save_language_model(model, path)
    return path


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.mark.once
def test_a_file_is_counted_as_its_sentences_are(model, preset, text):
    found = evaluate([text], preset)
    expected = perplexity(model, SENTENCES, model.backbone.vocabulary)
    assert found == pytest.approx({**expected, "unknown_tokens": UNKNOWN}, rel=1e-6)
    assert found["tokens"] == TOKENS


@pytest.mark.once
def test_files_packed_or_not_are_read_as_one_text(preset, text, tmp_path):
    first, second = TEXT.splitlines(keepends=True)[::3]
    (tmp_path / "a.txt").write_text(first, encoding="utf-8")
    (tmp_path / "b.gz").write_bytes(gzip.compress(second.encode()))
    files = [tmp_path / "b.gz", tmp_path / "a.txt"]
    whole = evaluate([text], preset)
    assert evaluate(files, preset, batch_size=1) == pytest.approx(whole, rel=1e-6)


@pytest.mark.once
def test_the_unicode_tokenizer_splits_punctuation(preset, text):
    found = evaluate([text], preset, tokenizer="unicode")
    # "river", ",": one token more, and one unknown word of two fewer is known.
    assert found["tokens"] == TOKENS + 1
    assert found["unknown_tokens"] == UNKNOWN


@pytest.mark.once
def test_the_command_prints_json(run, preset, text):
    code, out, err = run("evaluate", text, text, "--model", preset, "--json")
    assert code == 0
    assert err.startswith("keras_elmo ")
    found = json.loads(out)
    assert found == pytest.approx(evaluate([text, text], preset), rel=1e-6)
    assert list(found) == [
        "forward_perplexity",
        "backward_perplexity",
        "perplexity",
        "tokens",
        "unknown_tokens",
    ]
    mean = np.log([found["forward_perplexity"], found["backward_perplexity"]]).mean()
    assert found["perplexity"] == pytest.approx(np.exp(mean))


@pytest.mark.once
def test_the_command_prints_a_table(run, preset, text):
    code, out, _ = run("evaluate", text, "--model", preset, "--batch-size", 1)
    assert code == 0
    assert "unknown tokens" in out and f" {UNKNOWN} " in out


@pytest.mark.once
@pytest.mark.parametrize(
    "change, told",
    [
        ({"--model": "nowhere"}, "nowhere"),
        ({"--tokenizer": "spaces"}, "tokenizer='spaces'"),
    ],
)
def test_a_wrong_option_is_one_line(run, preset, text, change, told):
    options = {"--model": preset, **change}
    code, out, err = run(
        "evaluate", text, *(x for pair in options.items() for x in pair)
    )
    assert code == 1 and out == ""
    assert err.splitlines()[-1].startswith("Error: ") and told in err
    assert "Traceback" not in err


@pytest.mark.once
def test_a_text_that_cannot_be_read_is_one_line(run, preset, tmp_path):
    blank = tmp_path / "blank.txt"
    blank.write_text("\n  \n")
    code, _, err = run("evaluate", blank, "--model", preset)
    assert code == 1 and "at least one sentence" in err
    code, _, err = run("evaluate", tmp_path / "no.txt", "--model", preset)
    assert code == 1 and "no.txt" in err
    blank.write_bytes(b"one\ntwo \xff\n")
    code, _, err = run("evaluate", blank, "--model", preset)
    assert code == 1 and "blank.txt` line 2: not UTF-8" in err


@pytest.mark.once
def test_a_preset_without_a_language_model_is_one_line(run, text, tmp_path):
    character_backbone().save_to_preset(tmp_path / "preset")
    code, out, err = run("evaluate", text, "--model", tmp_path / "preset")
    assert code == 1 and out == ""
    assert "no language model" in err and "pretrain" in err


@pytest.mark.once
def test_usage_errors_exit_with_2(run, preset, text):
    assert run("evaluate", "--model", preset)[0] == 2
    assert run("evaluate", text)[0] == 2
    assert run("evaluate", text, "--model", preset, "--batch-size", 0)[0] == 2
