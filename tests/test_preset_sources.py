"""Presets by directory, by name, and from hubs that stand-ins take the place of."""

import shutil
import sys
import types

import pytest

import keras_elmo
from keras_elmo import preset_sources
from keras_elmo.preset_sources import PRESET_FILES, builtin_presets, resolve
from tests.models_for_tests import word_backbone

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    path = tmp_path_factory.mktemp("presets") / "small"
    word_backbone(mix_weights=[0.1, 0.2, 0.7]).save_to_preset(path)
    return path


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with an empty package and no presets; the current directory in it."""
    package = tmp_path / "checkout" / "keras_elmo"
    package.mkdir(parents=True)
    (tmp_path / "checkout" / "pyproject.toml").touch()
    monkeypatch.setattr(preset_sources, "_PACKAGE", package)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "checkout"


class Hub:
    """Stands for a hub's package: records calls, and answers with a folder or error."""

    def __init__(self, answer):
        self.answer, self.calls = answer, []

    def __call__(self, *arguments, **options):
        self.calls.append((arguments, options))
        if isinstance(self.answer, Exception):
            raise self.answer
        return str(self.answer)


@pytest.fixture
def hubs(monkeypatch):
    """A function that puts stand-ins of both packages, with one answer, in place."""

    def install(answer):
        hub = Hub(answer)
        for name, function in (
            ("huggingface_hub", "snapshot_download"),
            ("kagglehub", "model_download"),
        ):
            module = types.ModuleType(name)
            setattr(module, function, hub)
            monkeypatch.setitem(sys.modules, name, module)
        return hub

    return install


def test_a_directory_is_itself(preset):
    assert resolve(preset) == preset
    assert resolve(str(preset)) == preset


def test_hugging_face_is_asked_for_a_presets_files_only(preset, hubs):
    hub = hubs(preset)
    assert resolve("hf://owner/some.name") == preset
    assert resolve("hf://owner/name@refs/pr/1") == preset
    options = {"allow_patterns": list(PRESET_FILES)}
    assert hub.calls == [
        (("owner/some.name",), {"revision": None, **options}),
        (("owner/name",), {"revision": "refs/pr/1", **options}),
    ]


def test_kaggle_is_asked_for_the_variation(preset, hubs):
    hub = hubs(preset)
    assert resolve("kaggle://owner/elmo/keras/small") == preset
    assert resolve("kaggle://owner/elmo/keras/small/3") == preset
    assert hub.calls == [
        (("owner/elmo/keras/small",), {}),
        (("owner/elmo/keras/small/3",), {}),
    ]


def test_a_model_of_a_hub_is_loaded(preset, hubs):
    hubs(preset)
    backbone = keras_elmo.ElmoBackbone.from_preset("hf://owner/name")
    assert backbone.mix_weights == [0.1, 0.2, 0.7]
    assert len(backbone.vocabulary) == 7


def test_every_file_of_a_preset_is_fetched(tmp_path):
    """What a language model's preset holds, the most there is, is in the list."""
    backbone = word_backbone()
    model = keras_elmo.ElmoBiLM(backbone, vocabulary_size=len(backbone.vocabulary))
    model.save_to_preset(tmp_path / "model")
    files = {p.relative_to(tmp_path / "model") for p in (tmp_path / "model").rglob("*")}
    names = {f.as_posix() for f in files if (tmp_path / "model" / f).is_file()}
    # Those that `convert` adds.
    added = {"optimizer.h5", "README.md"}
    wanted = set(PRESET_FILES) - {"assets/*"} - added | {"assets/vocabulary.txt"}
    assert names == wanted


@pytest.mark.parametrize(
    "text, form",
    [
        ("hf://", r"hf://OWNER/NAME\[@REVISION\]"),
        ("hf://name", "hf://OWNER"),
        ("hf://owner/name/file", "hf://OWNER"),
        ("hf://owner/name@", "hf://OWNER"),
        ("kaggle://owner/model", r"kaggle://OWNER/MODEL/FRAMEWORK/VARIATION"),
        ("kaggle://owner/model/keras/small/latest", "kaggle://OWNER"),
        ("https://host/preset", "a directory that holds a config.json, hf://"),
    ],
)
def test_an_address_of_no_form_is_refused_before_a_hub_is_asked(text, form, hubs):
    hub = hubs("unused")
    with pytest.raises(ValueError, match=form) as raised:
        resolve(text)
    assert repr(text) in str(raised.value)
    assert hub.calls == []


@pytest.mark.parametrize(
    "text, module, package",
    [
        ("hf://owner/name", "huggingface_hub", "huggingface-hub"),
        ("kaggle://owner/model/keras/small", "kagglehub", "kagglehub"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(text, module, package, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"pip install 'keras-elmo\[hub\]'") as raised:
        resolve(text)
    assert f"{text!r} needs the package {package}" in str(raised.value)


def error_of(name, base=Exception, status=None):
    """An error as a hub raises it: of a class of its own, with lines of advice."""
    error = type(name, (base,), {})("401 Client Error.\n\nMany lines\nof advice.")
    if status is not None:
        error.response = types.SimpleNamespace(status_code=status)
    return error


@pytest.mark.parametrize(
    "error, kind, told",
    [
        (error_of("RepositoryNotFoundError", OSError, 401), FileNotFoundError, "no su"),
        (error_of("RevisionNotFoundError", OSError, 404), FileNotFoundError, "revisio"),
        (error_of("GatedRepoError", OSError, 403), PermissionError, "model's terms"),
        (error_of("LocalEntryNotFoundError", OSError), OSError, "cannot be reached"),
        (error_of("OfflineModeIsEnabled", ConnectionError), OSError, "the hub is off"),
        (error_of("KaggleApiHTTPError", OSError, 404), FileNotFoundError, "no such"),
        (error_of("KaggleApiHTTPError", OSError, 403), PermissionError, "terms"),
        (error_of("KaggleApiHTTPError", OSError, 500), OSError, "lines of advice"),
        (error_of("UnauthenticatedError"), PermissionError, "log in"),
        (ConnectionError("nobody answers"), OSError, "cannot be reached"),
        (error_of("DataCorruptionError"), OSError, "lines of advice"),
        (error_of("HFValidationError", ValueError), ValueError, "lines of advice"),
        (RuntimeError(), OSError, "gave no reason"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
@pytest.mark.parametrize("text", ["hf://owner/name", "kaggle://owner/model/keras/v"])
def test_a_hubs_error_is_one_line_that_names_the_preset(text, error, kind, told, hubs):
    hubs(error)
    with pytest.raises((OSError, ValueError)) as raised:
        resolve(text)
    assert type(raised.value) is kind
    message = str(raised.value)
    assert message.startswith(f"`{text}` cannot be fetched: ")
    assert told in message
    assert type(error).__name__ in message
    assert "\n" not in message
    assert raised.value.__cause__ is error


def test_a_repository_that_is_no_preset_is_refused(tmp_path, hubs):
    hubs(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"hf://owner/name.*no config\.json"):
        resolve("hf://owner/name")


def test_built_in_presets_are_found_by_name(preset, checkout):
    assert builtin_presets() == []
    shutil.copytree(preset, checkout / "saved_models" / "elmo-small")
    shutil.copytree(preset, checkout / "keras_elmo" / "_presets" / "elmo_tiny")
    # Neither a preset nor a name.
    (checkout / "saved_models" / "serving").mkdir()
    shutil.copytree(preset, checkout / "saved_models" / "not.a.name")
    assert builtin_presets() == ["elmo-small", "elmo_tiny"]
    assert resolve("elmo-small") == checkout / "saved_models" / "elmo-small"
    assert resolve("elmo_tiny") == checkout / "keras_elmo" / "_presets" / "elmo_tiny"
    with pytest.raises(FileNotFoundError):
        resolve("not.a.name")


def test_beside_an_installed_package_no_folder_is_taken_for_ours(preset, checkout):
    shutil.copytree(preset, checkout / "saved_models" / "small")
    (checkout / "pyproject.toml").unlink()
    assert builtin_presets() == []
    with pytest.raises(FileNotFoundError):
        resolve("small")


def test_a_directory_goes_before_a_built_in_preset_if_it_is_one(preset, checkout):
    shutil.copytree(preset, checkout / "saved_models" / "small")
    here = checkout.parent / "elsewhere" / "small"
    here.mkdir()
    assert resolve("small") == checkout / "saved_models" / "small"
    shutil.copytree(preset, here, dirs_exist_ok=True)
    assert resolve("small").resolve() == here


def test_an_unknown_name_is_told_the_forms_and_the_names(preset, checkout):
    shutil.copytree(preset, checkout / "saved_models" / "elmo-small")
    with pytest.raises(FileNotFoundError) as raised:
        resolve("elmo-smal")
    message = str(raised.value)
    for part in (
        "a directory that holds a config.json",
        "hf://OWNER/NAME",
        "kaggle://OWNER/MODEL",
        "a built-in name (elmo-small)",
        "Received: 'elmo-smal', and no such directory exists.",
        "Did you mean 'elmo-small'?",
    ):
        assert part in message
    with pytest.raises(FileNotFoundError) as raised:
        resolve("something/else")
    assert "Did you mean" not in str(raised.value)
