"""Rules that hold for every file, read from the sources."""

import ast
import importlib
import importlib.metadata
import inspect
import pathlib
import re
import subprocess
import tomllib

import keras
import pytest

import keras_elmo

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = CHECKOUT / "keras_elmo"
MODULES = sorted(PACKAGE.rglob("*.py"))
FRAMEWORKS = {"tensorflow", "tensorflow_text", "jax", "jaxlib", "torch"}
# Files and folders of keras_elmo/ that may import a framework.
MAY_IMPORT_FRAMEWORKS = (
    "backend/",
    "text/graph.py",
    "export/",
    "serving/grpc_transport.py",
    "checkpoints/bilm_tf1.py",
    "checkpoints/tf_hub.py",
    "checkpoints/many_langs.py",
)
MAX_LINES = 400

# Saved models name these: a class may be added, never renamed or removed.
REGISTERED_NAMES = {
    "AddSentenceMarkers",
    "Attend",
    "BidirectionalAttention",
    "BidirectionalLSTM",
    "CRF",
    "ElmoPairClassifier",
    "ElmoQuestionAnswering",
    "ElmoTask",
    "ElmoTextClassifier",
    "ElmoTokenClassifier",
    "PoolTokens",
    "SpanScores",
    "TokenAt",
    "BiLMEncoder",
    "BiLMSoftmax",
    "CarriedState",
    "CharacterCNN",
    "ElmoBackbone",
    "ElmoBiLM",
    "ElmoEmbedding",
    "ElmoPreprocessor",
    "Highway",
    "JoinedEncoder",
    "LSTMStack",
    "LayerMixes",
    "ManyLangsBackbone",
    "Perplexity",
    "ProjectedLSTM",
    "RemoveSentenceMarkers",
    "SampledSoftmax",
    "ScalarMix",
    "StringIds",
    "WordCharacterEmbedding",
    "WordEmbedding",
}
# What users import: a name may be added, never removed.
PUBLIC_NAMES = {
    *REGISTERED_NAMES,
    "ElmoTokenizer",
    "TokenCache",
    "Vocabulary",
    "data",
    "embed",
    "evaluation",
    "embed_iter",
    "tasks",
    "text",
    "training",
}


def relative(path):
    return path.relative_to(PACKAGE).as_posix()


def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imported_modules(tree):
    """Each (line, module) that is imported anywhere, inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""
            # `from keras import src`
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Call) and node.args:
            # import_module("torch") and __import__("torch")
            name = ast.unparse(node.func).rpartition(".")[2]
            argument = node.args[0]
            if name in ("import_module", "__import__") and isinstance(
                argument, ast.Constant
            ):
                yield node.lineno, str(argument.value)


def keras_classes(path):
    """The classes of a file that Keras saves, with their decorators' source."""
    for node in parse(path).body:
        if not isinstance(node, ast.ClassDef):
            continue
        decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
        bases = [ast.unparse(base) for base in node.bases]
        if any("register_keras_serializable" in text for text in decorators) or any(
            # Data sets and callbacks are never part of a saved model.
            base.startswith("keras.")
            and base not in ("keras.utils.PyDataset", "keras.callbacks.Callback")
            for base in bases
        ):
            yield node.name, decorators


def test_only_the_allowed_files_import_a_framework():
    found = [
        f"{relative(path)}:{line}: {module}"
        for path in MODULES
        if not relative(path).startswith(MAY_IMPORT_FRAMEWORKS)
        for line, module in imported_modules(parse(path))
        if module.partition(".")[0] in FRAMEWORKS
    ]
    assert found == []


def test_keras_internals_are_never_imported():
    found = [
        f"{path.relative_to(CHECKOUT)}:{line}: {module}"
        for path in [*MODULES, *sorted((CHECKOUT / "tests").rglob("*.py"))]
        for line, module in imported_modules(parse(path))
        if module == "keras.src" or module.startswith("keras.src.")
    ]
    assert found == []


def test_layers_use_no_numpy():
    found = [
        f"{relative(path)}:{line}"
        for path in sorted((PACKAGE / "layers").glob("*.py"))
        for line, module in imported_modules(parse(path))
        if module == "numpy"
    ]
    assert found == []


def test_every_keras_class_is_registered_once_under_the_package():
    names = []
    for path in MODULES:
        for name, decorators in keras_classes(path):
            wanted = "keras.saving.register_keras_serializable(package='keras_elmo')"
            assert wanted in decorators, f"{relative(path)}: {name}: {decorators}"
            names.append(name)
    # A second class of one name would replace the first without a word.
    assert sorted(names) == sorted(set(names))
    for name in names:
        assert keras.saving.get_registered_object(f"keras_elmo>{name}") is not None


def test_registered_names_are_frozen():
    names = {name for path in MODULES for name, _ in keras_classes(path)}
    assert names >= REGISTERED_NAMES, "a class was renamed or removed"
    assert names <= REGISTERED_NAMES, "add the new class to REGISTERED_NAMES"


def reexports(path):
    """Names that a file imports as `from x import Y as Y`."""
    return {
        alias.name
        for node in parse(path).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }


def test_public_names_are_frozen():
    names = {n for n in reexports(PACKAGE / "__init__.py") if not n.startswith("_")}
    assert names >= PUBLIC_NAMES, "a name was renamed or removed"
    assert names <= PUBLIC_NAMES, "add the new name to PUBLIC_NAMES"


def test_reexports_agree_with_all():
    """Type checkers take `from x import Y as Y` for public, and `__all__`."""
    for path in sorted(PACKAGE.rglob("__init__.py")):
        module = importlib.import_module(
            ".".join(["keras_elmo", *path.relative_to(PACKAGE).parts[:-1]])
        )
        names = reexports(path)
        listed = getattr(module, "__all__", None)
        if listed is not None:
            assert names <= set(listed), f"{relative(path)}: __all__ lacks names"
            names |= set(listed)
        for name in names:
            assert hasattr(module, name), f"{relative(path)}: {name}"


def documented_objects():
    """Each (name, class or function) of ours that `keras_elmo` gives users."""
    for name in sorted(PUBLIC_NAMES):
        value = getattr(keras_elmo, name)
        members = vars(value) if inspect.ismodule(value) else {"": value}
        for key, member in members.items():
            if (
                not key.startswith("_")
                and (inspect.isclass(member) or inspect.isfunction(member))
                and member.__module__.startswith("keras_elmo")
            ):
                yield f"{name}.{key}".rstrip("."), member


def test_public_objects_have_a_docstring():
    # `inspect.getdoc` would find the base class's.
    missing = [name for name, value in documented_objects() if not value.__doc__]
    assert missing == []


def test_public_arguments_are_hinted_or_documented():
    """Each argument of a public class or function stands in its docstring."""
    missing = []
    for name, value in documented_objects():
        doc = value.__doc__ or ""
        for argument, parameter in inspect.signature(value).parameters.items():
            hinted = parameter.annotation is not inspect.Parameter.empty
            if parameter.kind not in (
                inspect.Parameter.VAR_KEYWORD,
                inspect.Parameter.VAR_POSITIONAL,
            ) and not (hinted or re.search(rf"\b{re.escape(argument)}\b", doc)):
                missing.append(f"{name}({argument})")
    assert missing == []


def tracked_files():
    """Files of the repository: what git tracks, or all of them without git."""
    if (CHECKOUT / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=CHECKOUT,
            capture_output=True,
            check=False,
        )
        if listed.returncode == 0:
            names = listed.stdout.decode("utf-8").split("\0")
            return [CHECKOUT / n for n in names if n and (CHECKOUT / n).is_file()]
    folders = ("keras_elmo", "tests", "scripts", "saved_models")
    found = [path for folder in folders for path in (CHECKOUT / folder).rglob("*")]
    found += CHECKOUT.glob("*")
    return [p for p in found if p.is_file() and "__pycache__" not in p.parts]


def test_no_python_file_is_too_long():
    long = {
        str(path.relative_to(CHECKOUT)): count
        for path in tracked_files()
        if path.suffix == ".py"
        and (count := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert long == {}


def test_no_machine_path_and_no_registry_address():
    # Put together here, so that this file does not hold what it looks for.
    folders = ["work", "root", "home/[a-z]", "Users/[A-Za-z]"]
    hosts = ["py" + "pi", "pythonhosted", "registry.np" + "mjs", "con" + "da"]
    forbidden = re.compile(
        rf"(?<![\w.~*\]}}/-])/({'|'.join(folders)})[\w.-]*/"
        rf"|({'|'.join(map(re.escape, hosts))})\.(org|com)"
        rf"|--(extra-)?index-url"
    )
    found = []
    for path in tracked_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # no text
        if path == pathlib.Path(__file__).resolve():
            continue
        found += [
            f"{path.relative_to(CHECKOUT)}:{number}: {line.strip()[:100]}"
            for number, line in enumerate(text.splitlines(), 1)
            if forbidden.search(line)
        ]
    assert found == []


def test_changelog_has_a_place_for_the_next_release():
    text = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[(.+?)\]", text, flags=re.MULTILINE)
    assert headings[0] == "Unreleased"


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    # One place: what is built reads the file that the package imports.
    assert project["project"]["dynamic"] == ["version"]
    version_file = CHECKOUT / project["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{keras_elmo.__version__}"' in version_file.read_text()
    citation = (CHECKOUT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {keras_elmo.__version__}\n" in citation
    try:
        installed = importlib.metadata.version("keras-elmo")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("keras-elmo runs from its sources and is not installed")
    assert installed == keras_elmo.__version__


def test_constraints_pin_every_requirement_exactly():
    """Plain `name==version` lines: no addresses, hashes or one machine's builds."""
    lines = (CHECKOUT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    for line in pins:
        assert re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][0-9a-z.]*(; .+)?", line), line
    names = {re.split("==", line)[0].lower().replace("_", "-") for line in pins}
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    required = [*project["project"]["dependencies"]]
    for extra in project["project"]["optional-dependencies"].values():
        required += extra
    required += project["dependency-groups"]["dev"]
    wanted = {re.split(r"[\[<>=;! ]", text)[0].lower() for text in required}
    assert wanted - {"keras-elmo"} <= names
