"""Published models: what is known of them, and how they become presets."""

import errno
import io
import json
import pathlib
import re
import subprocess
import sys
import threading
import zipfile

import numpy as np
import pytest

import keras_elmo
from keras_elmo import downloads, published
from keras_elmo.preset_sources import builtin_presets, resolve
from keras_elmo.published import cached_preset
from tests.helpers import CHECKOUT
from tests.reference.published import random_weights, write_hdf5
from tests.web import serving

pytestmark = pytest.mark.once

OPTIONS = {
    "lstm": {
        "use_skip_connections": True,
        "projection_dim": 4,
        "cell_clip": 3,
        "proj_clip": 3,
        "dim": 8,
        "n_layers": 2,
    },
    "char_cnn": {
        "activation": "relu",
        "filters": [[1, 4], [2, 4]],
        "n_highway": 1,
        "embedding": {"dim": 4},
        "n_characters": 262,
        "max_characters_per_token": 50,
    },
}
SENTENCES = [["The", "bank", "."], ["Hi"]]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The two files of a small model as bilm-tf publishes it, and its vectors."""
    folder = tmp_path_factory.mktemp("published")
    (folder / "options.json").write_text(json.dumps(OPTIONS))
    weights = random_weights(OPTIONS, np.random.default_rng(1))
    write_hdf5(folder / "weights.hdf5", weights)
    backbone = keras_elmo.ElmoBackbone.from_options(
        folder / "options.json", folder / "weights.hdf5"
    )
    vectors = keras_elmo.embed(SENTENCES, backbone)
    return {path.name: path.read_bytes() for path in folder.iterdir()}, vectors


@pytest.fixture
def web(files, tmp_path, monkeypatch):
    """A server of that model, of an archive of it, and a list that names both."""
    with serving() as web:
        web.files = {f"/small/{name}": data for name, data in files[0].items()}
        web.files["/7.zip"] = archive({f"in/{n}": d for n, d in files[0].items()})
        facts = {
            "description": "A small one",
            "languages": ["en"],
            "sizes": {"hidden_dim": 8, "projection_dim": 4},
            "parameters_in_millions": 0.001,
        }
        family = {
            "form": "bilm_hdf5",
            "homepage": "https://example.org",
            "licence": None,
            "program_licence": "MIT",
            "citations": ["paper"],
            **facts,
        }

        def file(path, **more):
            name = path.rpartition("/")[2]
            return {"name": name, "addresses": [web.address + path], **more}

        models = {
            "small_en": [
                file("/small/options.json", size=len(files[0]["options.json"])),
                file("/small/weights.hdf5"),
            ],
            "zipped_en": [file("/7.zip")],
        }
        content = {
            "citations": {"paper": "@article{paper}"},
            "families": {"few": family},
            "models": {n: {"family": "few", "files": f} for n, f in models.items()},
        }
        data = tmp_path / "published.json"
        data.write_text(json.dumps(content))
        monkeypatch.setattr(published, "DATA", data)
        monkeypatch.setattr(downloads, "TRIES", 1)
        monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
        yield web


def archive(members):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as target:
        for name, content in members.items():
            target.writestr(name, content)
    return data.getvalue()


def everything(folder):
    return sorted(
        path.relative_to(folder).as_posix()
        for path in pathlib.Path(folder).rglob("*")
        if path.is_file()
    )


def load(name):
    return keras_elmo.ElmoBackbone.from_preset(name)


@pytest.mark.parametrize("name", ["small_en", "zipped_en"])
def test_a_name_is_fetched_and_converted_once(name, web, files, tmp_path):
    vectors = keras_elmo.embed(SENTENCES, load(name))
    np.testing.assert_allclose(vectors, files[1], atol=1e-6)
    requests = list(web.requests)
    assert len(requests) == (2 if name == "small_en" else 1)
    # What was fetched is not kept twice.
    assert not (tmp_path / "keras" / "keras_elmo" / "downloads" / name).exists()
    again = keras_elmo.embed(SENTENCES, load(name))
    np.testing.assert_array_equal(vectors, again)
    assert web.requests == requests


def test_a_download_that_broke_off_goes_on(web):
    length = len(web.files["/small/weights.hdf5"])
    web.cut["/small/weights.hdf5"] = length // 2
    with pytest.raises(ConnectionError, match="broke off"):
        load("small_en")
    load("small_en")
    assert web.requests == [
        ("/small/options.json", None),
        ("/small/weights.hdf5", None),
        ("/small/weights.hdf5", f"bytes={length // 2}-"),
    ]


@pytest.mark.parametrize("missing", ["network", "file"])
def test_what_cannot_be_fetched_can_be_put_there_by_hand(
    web, files, missing, monkeypatch
):
    if missing == "file":
        del web.files["/small/weights.hdf5"]
        told, wanted = "HTTP 404 Not Found", ["weights.hdf5"]
    else:
        with serving() as other:
            gone = other.address
        text = published.DATA.read_text().replace(web.address, gone)
        monkeypatch.setattr(published, "DATA", published.DATA.with_name("gone.json"))
        published.DATA.write_text(text)
        told, wanted = "refused", ["options.json", "weights.hdf5"]
    with pytest.raises(ConnectionError) as raised:
        load("small_en")
    message = str(raised.value)
    assert "'small_en' cannot be downloaded" in message and told in message
    places = {
        path: address
        for address, path in re.findall(r"(http\S+) to `([^`]+)`", message)
    }
    assert [pathlib.Path(path).name for path in places] == wanted
    for path, address in places.items():
        name = address.rpartition("/")[2]
        pathlib.Path(path).write_bytes(files[0][name])
    vectors = keras_elmo.embed(SENTENCES, load("small_en"))
    np.testing.assert_allclose(vectors, files[1], atol=1e-6)


def test_a_wrong_file_is_told_and_makes_no_preset(web):
    whole = web.files["/small/options.json"]
    web.files["/small/options.json"] = whole + b"\n"
    with pytest.raises(ValueError, match=rf"must have {len(whole)} bytes"):
        load("small_en")
    assert not cached_preset("small_en").exists()
    web.files["/small/options.json"] = whole
    load("small_en")


def test_a_damaged_model_says_what_to_remove(web, tmp_path):
    whole = web.files["/small/weights.hdf5"]
    web.files["/small/weights.hdf5"] = whole[: len(whole) // 2]
    with pytest.raises(ValueError, match=r"Remove `.*` to fetch 'small_en' again"):
        load("small_en")
    assert everything(tmp_path / "keras" / "keras_elmo" / "presets") == []


def test_a_published_language_gives_its_own_programs_vectors(web, golden, monkeypatch):
    """An archive as the repository has it: ELMoForManyLangs' files, no folder."""
    folder = golden / "efml" / "word_char"
    kinds = (".json", ".dic", ".pkl")
    members = [path for path in folder.iterdir() if path.suffix in kinds]
    web.files["/7.zip"] = archive({path.name: path.read_bytes() for path in members})
    content = json.loads(published.DATA.read_text())
    content["families"]["few"]["form"] = "many_langs"
    monkeypatch.setattr(published, "DATA", published.DATA.with_name("many.json"))
    published.DATA.write_text(json.dumps(content))
    sentences = json.loads((folder.parent / "sentences.json").read_text("utf-8"))
    vectors = keras_elmo.embed_iter(sentences, load("zipped_en"), layers="all")
    with np.load(folder / "expected.npz") as expected:
        for number, layers in enumerate(vectors):
            # golden/efml/README.md has the tolerance.
            np.testing.assert_allclose(
                layers, expected[f"alone/{number}"], atol=2e-5, rtol=1e-5
            )


@pytest.mark.parametrize(
    "data, told",
    [
        (b"PK\x03\x04 no more", "cannot be unpacked"),
        (archive({"../../outside": b"x"}), "leads out of it"),
        (archive({"README": b"x"}), "has no options"),
    ],
    ids=["broken", "outside", "nothing"],
)
def test_an_archive_is_not_trusted(web, tmp_path, data, told):
    web.files["/7.zip"] = data
    before = everything(tmp_path)
    with pytest.raises(ValueError, match=rf"{told}.* Remove .*zipped_en"):
        load("zipped_en")
    new = set(everything(tmp_path)) - set(before)
    folder = "keras/keras_elmo/downloads/"
    assert new == {f"{folder}zipped_en/7.zip", f"{folder}zipped_en.lock"}


def test_two_processes_fetch_it_once(web, monkeypatch):
    # The second process starts for seconds while the first one's server waits.
    monkeypatch.setattr(downloads, "TIMEOUT", 600.0)
    program = (
        "import sys, pathlib, keras_elmo\n"
        "from keras_elmo import published\n"
        "published.DATA = pathlib.Path(sys.argv[1])\n"
        "print(keras_elmo.ElmoBackbone.from_preset('small_en').output_dim)\n"
    )
    answer, asked, go_on = web.answer, threading.Event(), threading.Event()

    def waits(handler):
        asked.set()
        go_on.wait(600)
        answer(handler)

    web.answer = waits
    first = threading.Thread(target=load, args=("small_en",))
    first.start()
    assert asked.wait(60)
    second = subprocess.Popen(
        [sys.executable, "-c", program, str(published.DATA)],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert "waiting for another process" in second.stderr.readline()
    finally:
        go_on.set()
        out, err = second.communicate(timeout=600)
        first.join()
    assert (second.returncode, out.strip()) == (0, "8"), err
    assert [path for path, _ in web.requests] == [
        "/small/options.json",
        "/small/weights.hdf5",
    ]


def test_a_folder_that_may_not_be_written_is_told_with_the_remedy(web, monkeypatch):
    load("small_en")

    # The superuser may write everywhere, so the system's answer is given here.
    def refuse(*arguments, **options):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(pathlib.Path, "mkdir", refuse)
    load("small_en")  # it is there
    with pytest.raises(PermissionError, match=r"Read-only .*KERAS_HOME"):
        load("zipped_en")


def test_a_broken_preset_in_the_cache_is_made_anew(web):
    cached_preset("small_en").mkdir(parents=True)
    assert load("small_en").output_dim == 8
    card = (cached_preset("small_en") / "README.md").read_text("utf-8")
    assert f"{web.address}/small/weights.hdf5" in card and '"en"' in card


def test_presets_lists_them(run, web):
    code, out, _ = run("presets", "--json")
    assert code == 0
    rows = {row["name"]: row for row in json.loads(out)["presets"]}
    assert set(rows) == {"small_en", "zipped_en", *builtin_presets()}
    assert rows["small_en"] == {
        "name": "small_en",
        "description": "A small one",
        "languages": ["en"],
        "network": "8/4",
        "bytes": None,
        "on_this_machine": False,
        "licence": None,
    }
    load("small_en")
    code, out, _ = run("presets")
    assert code == 0
    assert cells(out, "small_en") == ["small_en", "A small one", "8/4", "-", "yes"]


def test_presets_that_ship_are_as_large_as_their_files(run, web):
    (name, *_) = builtin_presets()
    folder = resolve(name)
    size = sum((folder / path).stat().st_size for path in everything(folder))
    assert size > 2**20
    code, out, _ = run("presets")
    assert code == 0 and cells(out, name)[3] == f"{size:,}"
    code, out, _ = run("presets", name, "--json")
    assert code == 0 and json.loads(out)["bytes"] == size


def cells(table, name):
    """Those of a preset's row."""
    line = next(line for line in table.splitlines() if name in line)
    return [cell.strip() for cell in line.strip("│").split("│")]


def test_presets_tells_all_of_one(run, web):
    code, out, _ = run("presets", "small_en", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["citations"] == ["@article{paper}"]
    assert facts["parameters"] == 1000
    assert facts["files"][1]["addresses"] == [f"{web.address}/small/weights.hdf5"]
    assert facts["files"][1]["path"].endswith("downloads/small_en/weights.hdf5")
    code, out, _ = run("presets", "small_en")
    assert code == 0 and "@article{paper}" in out
    code, _, err = run("presets", "tiny")
    assert code == 1 and "name='tiny'" in err
