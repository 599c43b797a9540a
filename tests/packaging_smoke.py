"""What scripts/check_package.sh runs on the built package; no test of the suite.

python packaging_smoke.py contents WHEEL SDIST     what the two archives hold
python packaging_smoke.py use CHECKOUT             the installed package at work
python packaging_smoke.py example README           its first example, without a network
"""

import os
import pathlib
import sys
import tarfile
import zipfile


def check_contents(wheel, sdist):
    """Nothing is missing from the archives, and nothing too much in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "keras_elmo/__init__.py" in names
    assert "keras_elmo/py.typed" in names
    for file in ("config.json", "model.weights.h5", "assets/vocabulary.txt"):
        assert f"keras_elmo/_presets/elmo_tiny_en/{file}" in names, file
    assert any(name.endswith("licenses/LICENSE") for name in names)
    strangers = [
        name
        for name in names
        if not name.startswith(("keras_elmo/", "keras_elmo-"))
        or name.startswith("keras_elmo/tests")
        or "__pycache__" in name
    ]
    assert not strangers, strangers
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    for needed in (
        "keras_elmo/py.typed",
        "tests/conftest.py",
        "scripts/test.sh",
        "constraints.txt",
        "pyproject.toml",
        "README.md",
        "LICENSE",
    ):
        assert needed in names, needed
    strangers = [name for name in names if ".venv" in name or "__pycache__" in name]
    assert not strangers, strangers


def check_use(checkout):
    """The package comes from the environment, not the checkout, and embeds."""
    # Python put the folder of this file first: the package is not in it.
    import keras
    import numpy as np

    import keras_elmo

    found = pathlib.Path(keras_elmo.__file__).resolve()
    assert pathlib.Path(checkout).resolve() not in found.parents, found
    backbone = keras_elmo.ElmoBackbone(
        hidden_dim=8,
        projection_dim=4,
        char_cnn_filters=[[1, 4], [2, 4]],
        character_embedding_dim=4,
    )
    vectors = keras_elmo.embed([["The", "bank", "."], ["a"]], backbone)
    assert vectors.shape == (2, 3, 8)
    assert np.isfinite(vectors).all()
    assert (vectors[1, 1:] == 0).all()
    shipped = keras_elmo.ElmoBackbone.from_preset("elmo_tiny_en")
    vectors = keras_elmo.embed([["The", "bank", "of", "the", "river", "."]], shipped)
    assert vectors.shape == (1, 6, 256)
    assert np.isfinite(vectors).all()
    print(
        f"keras_elmo {keras_elmo.__version__}, keras {keras.__version__} on"
        f" {keras.config.backend()}, Python {sys.version.split()[0]}: embeds"
    )


def check_example(readme):
    """The page's first Python block does what it says, with what the package holds."""
    # Python put the folder of this file first.
    from markdown import blocks

    def refuse(event, _):
        if event in ("socket.connect", "socket.getaddrinfo"):
            raise AssertionError(f"{event}: the example needs no network")

    sys.addaudithook(refuse)
    line, source = next(blocks(pathlib.Path(readme), "python"))
    assert 'from_preset("elmo_tiny_en")' in source, source
    # Empty lines before it: a traceback then names the line of the page.
    code = compile("\n" * (line - 1) + source, os.fspath(readme), "exec")
    names = {"__name__": "__main__"}
    exec(code, names)
    vectors = names["vectors"]
    assert vectors.shape[0] == 3 and vectors.shape[2] == 256, vectors.shape
    print(f"README.md:{line}: vectors {vectors.shape} of the shipped model")


if __name__ == "__main__":
    checks = {"contents": check_contents, "use": check_use, "example": check_example}
    checks[sys.argv[1]](*sys.argv[2:])
