"""What runs README.md's blocks, on pages written here; the files it makes."""

import importlib
import os
import pathlib
import sys
import time

import pytest

from keras_elmo.evaluation.coarse_wsd import read_coarse_wsd
from keras_elmo.lines import read_lines
from tests.markdown import all_blocks

pytestmark = pytest.mark.once

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "scripts"
PAGE = """
# Title

```bash
export GREETING='a "quoted" word'
mkdir inner && cd inner
```

```python
import os
import sys

told = os.environ["GREETING"]
```

<!-- not run: needs Docker -->

```bash
touch must_not_be
```

```console
touch must_not_be_either
```

```bash
echo "$GREETING in $(basename "$PWD")" > told.txt
echo an error the page should tell of >&2
false
touch must_not_be_after_an_error
```

```python
assert told == 'a "quoted" word'
with open("told.txt") as file:
    assert file.read() == told + " in inner\\n"
```

```python
print("printed")
raise ValueError(told)
```

```python
assert told  # an error does not end the program
```

```python
sys.exit(7)
```

```python
os._exit(7)
```

```python
assert "told" not in globals()  # a new program
```
"""
RESULTS = [
    (5, "passed"),
    (10, "passed"),
    (19, "not run: needs Docker"),
    (27, "failed"),
    (34, "passed"),
    (40, "failed"),
    (45, "passed"),
    (49, "failed"),
    (53, "failed"),
    (57, "passed"),
]


@pytest.fixture
def scripts(monkeypatch):
    """Imports a file of scripts/, which finds the files beside it."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr(sys, "path", list(sys.path))
    return importlib.import_module


@pytest.fixture
def run_page(scripts, tmp_path):
    """Runs a text in tmp_path / "a folder's", a name that a shell would split."""
    run_readme = scripts("run_readme")
    page, folder, aside = (
        tmp_path / "page.md",
        tmp_path / "a folder's",
        tmp_path / "aside",
    )
    folder.mkdir()
    aside.mkdir()
    python = pathlib.Path(sys.executable).parent
    variables = os.environ | {"PATH": f"{python}{os.pathsep}{os.environ['PATH']}"}

    def run(text, timeout):
        page.write_text(text)
        reader = run_readme.Reader(folder, aside, variables, timeout)
        try:
            results = run_readme.run_page(page, reader)
        finally:
            reader.close()
        return [(block.line, result) for block, result, _ in results]

    return run


def test_each_block_goes_on_from_the_ones_before(run_page, tmp_path, capfd):
    assert run_page(PAGE, timeout=60) == RESULTS
    written = sorted(path.name for path in (tmp_path / "a folder's").rglob("*"))
    assert written == ["inner", "told.txt"]
    told = capfd.readouterr().out
    assert "an error the page should tell of" in told
    assert "printed\nTraceback" in told
    # A traceback names the line of the page.
    assert "line 41, in <module>" in told


def test_blocks_that_do_not_end_are_ended(run_page):
    page = "```bash\nsleep 60\n```\n```python\nimport time\ntime.sleep(60)\n```\n"
    started = time.monotonic()
    assert run_page(page, timeout=0.5) == [(2, "timed out"), (5, "timed out")]
    assert time.monotonic() - started < 30


def test_a_page_where_a_block_fails_is_a_failure(scripts, tmp_path, monkeypatch):
    run_readme = scripts("run_readme")

    def main(*sources):
        page = tmp_path / "page.md"
        page.write_text("".join(f"```bash\n{source}\n```\n" for source in sources))
        arguments = ["run_readme.py", "--readme", str(page)]
        monkeypatch.setattr(sys, "argv", arguments)
        return run_readme.main()

    monkeypatch.setattr(run_readme, "prepare", lambda work: (work, dict(os.environ)))
    assert main("true", "cd /") == 0
    assert main("true", "false") == 1
    assert main() == 1  # a page without blocks says nothing


def test_readers_files_are_what_the_commands_take(scripts, tmp_path):
    from keras_elmo.tasks.columns import read_columns

    scripts("readme_files").write_files(tmp_path)
    sentences = list(read_lines(tmp_path / "sentences.txt"))
    assert len(sentences) == 60
    assert all("bank" in sentence.split() for sentence in sentences)
    tagged = list(read_columns(tmp_path / "dev.conllu"))
    assert len(tagged) == 30
    ((word, (train, test)),) = read_coarse_wsd(tmp_path / "CoarseWSD-20").items()
    assert word == "bank"
    assert {use.sense for use in train} == {use.sense for use in test}
    assert {use.tokens[use.position] for use in train + test} == {"bank"}


def test_a_reason_is_read_from_the_line_above(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- not run: of another block -->\n\ntext\n\n```bash\na\n```\n"
        "<!-- not run: needs a GPU -->\n```python\nb\n```\n\n```\nc\n```\n"
    )
    assert [tuple(block) for block in all_blocks(page)] == [
        (6, "bash", "a\n", None),
        (10, "python", "b\n", "needs a GPU"),
        (14, "", "c\n", None),
    ]
