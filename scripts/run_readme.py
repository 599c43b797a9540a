"""Runs README.md's blocks from top to bottom, as a reader of a fresh clone would.

    python scripts/run_readme.py [--readme FILE] [--timeout SECONDS] [--keep FOLDER]

In a temporary folder it clones the last commit of this checkout and makes an empty
environment, the one that `pip` and `python` then mean. Any Python 3.11 to 3.13 runs it;
nothing but the package index is asked for anything. In the clone

- ```bash blocks go on from one another: variables that one exports, and the folder it
  changes to, hold for all that come after it. A line that fails ends its block;
- ```python blocks are one program in one interpreter, which starts at the first of them
  with the shell's variables of then;
- pip takes the releases of constraints.txt;
- the reader's own files (corpus.txt, ...) are small ones: readme_files.py;
- a block below the line `<!-- not run: REASON -->` is listed with its reason.

Blocks in other languages show what is not to be run. Exits with 1 when a block fails.
"""

import argparse
import contextlib
import os
import pathlib
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

from readme_files import write_files

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the file below is the tests' too, which no wheel holds
from tests.markdown import all_blocks  # noqa: E402

LANGUAGES = ("bash", "python")
# Of a block's output when it has failed.
LAST_LINES = 40

# Reads "file TAB first line", runs the file as the next part of one program, and
# answers with a line. What the program prints goes where its errors go.
_INTERPRETER = r"""
import os, sys, traceback
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
program = {"__name__": "__main__"}
for order in iter(sys.stdin.readline, ""):
    path, line = order.rstrip("\n").split("\t")
    with open(path, encoding="utf-8") as file:
        source = "\n" * (int(line) - 1) + file.read()
    try:
        exec(compile(source, path, "exec"), program)
    except BaseException:
        traceback.print_exc()
        told = "failed"
    else:
        told = "passed"
    sys.stdout.flush()
    print(told, file=answers, flush=True)
"""


class Reader:
    """Who runs blocks one after another, in one folder.

    Args:
        folder: pathlib.Path of the folder where the blocks run.
        aside: pathlib.Path of an empty folder for what is written on the way.
        variables: the environment of the first block.
        timeout: seconds that a block may take.
    """

    def __init__(self, folder, aside, variables, timeout):
        self._aside, self._variables, self._timeout = aside, variables, timeout
        self._state = aside / "state.sh"
        self._state.write_text(f"cd {shlex.quote(str(folder))}\n")
        self._log = aside / "log.txt"
        self._printed = aside / "printed.txt"  # by all of the program so far
        self._interpreter = None

    def run(self, block):
        """(result, output) of a block: "passed", "failed" or "timed out"."""
        path = self._aside / f"line_{block.line}.{block.language}"
        path.write_text(block.source, encoding="utf-8")
        with self._log.open("w+", encoding="utf-8", errors="replace") as log:
            start = self._run_python if block.language == "python" else self._run_shell
            result = start(path, block, log)
            log.seek(0)
            return result, log.read()

    def close(self):
        """Ends the interpreter."""
        if self._interpreter is not None:
            _end(self._interpreter)
            self._interpreter.stdout.close()
            with contextlib.suppress(BrokenPipeError):
                self._interpreter.stdin.close()
            self._interpreter = None

    # Any: which pipes the process has is the caller's choice.
    def _shell(self, script, *arguments, **options) -> Any:
        """Starts a shell where the last one was left."""
        script = f'set -eo pipefail; . "$0"; {script}'
        return subprocess.Popen(
            ["bash", "-c", script, self._state, *arguments],
            env=self._variables,
            start_new_session=True,
            **options,
        )

    def _run_shell(self, path, block, log):
        left = self._aside / "left.sh"
        process = self._shell(
            '. "$1"; { export -p; printf "cd %q\\n" "$PWD"; } >"$2"',
            *(path, left),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            status = process.wait(self._timeout)
        except subprocess.TimeoutExpired:
            return "timed out"
        finally:
            _end(process)
        if status:
            return "failed"
        left.replace(self._state)
        return "passed"

    def _run_python(self, path, block, log):
        if self._interpreter is None:
            with self._printed.open("a") as printed:
                self._interpreter = self._shell(
                    'exec python -P -c "$1"',  # -P: what is installed, not the folder
                    _INTERPRETER,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=printed,
                    text=True,
                )
        process, before = self._interpreter, self._printed.stat().st_size
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(f"{path}\t{block.line}\n")
            process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], self._timeout)
        result = process.stdout.readline().strip() if ready else "timed out"
        with self._printed.open(encoding="utf-8", errors="replace") as printed:
            printed.seek(before)
            log.write(printed.read())
        if result in ("", "timed out"):
            self.close()  # the next block begins anew
        return result or "failed"


def _end(process):
    """Ends a process with all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_page(page, reader):
    """Runs a page's blocks and tells of each: a list of (block, result, seconds)."""
    results = []
    for block in all_blocks(page):
        if block.language not in LANGUAGES:
            continue
        print(f"\n== {page.name}:{block.line} {block.language}\n{block.source}", end="")
        if block.not_run:
            results.append((block, f"not run: {block.not_run}", 0.0))
        else:
            started = time.monotonic()
            result, output = reader.run(block)
            results.append((block, result, time.monotonic() - started))
            if result != "passed":
                print(*output.splitlines()[-LAST_LINES:], sep="\n")
        print(f"-- {results[-1][1]}, {results[-1][2]:.1f} s", flush=True)
    return results


def prepare(work):
    """A clone, an empty environment, the reader's files: (clone, variables)."""
    clone, venv = work / "keras_elmo", work / "environment"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    write_files(clone)
    # Neither this checkout nor the user's Keras settings may be found from there.
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "KERAS_BACKEND")
    variables = {k: v for k, v in os.environ.items() if k not in hidden}
    variables["PATH"] = f"{venv / 'bin'}{os.pathsep}{variables['PATH']}"
    variables["PIP_CONSTRAINT"] = str(clone / "constraints.txt")
    variables["KERAS_HOME"] = str(work / "keras")
    variables["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    return clone, variables


def main():
    parser = argparse.ArgumentParser(description="Runs README.md's blocks.")
    parser.add_argument(
        "--readme", type=pathlib.Path, help="another page than the clone's"
    )
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds a block")
    parser.add_argument("--keep", type=pathlib.Path, help="a new folder to work in")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if options.keep is None:
            work = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        else:
            work = options.keep.absolute()
            work.mkdir(parents=True)
        clone, variables = prepare(work)
        (work / "aside").mkdir()
        reader = Reader(clone, work / "aside", variables, options.timeout)
        stack.callback(reader.close)
        results = run_page(options.readme or clone / "README.md", reader)
    print("\n== summary")
    for block, result, seconds in results:
        first = block.source.partition("\n")[0][:48]
        print(
            f"{block.line:4} {block.language:6} {seconds:6.1f} s  {first:48}  {result}"
        )
    not_run = sum(result.startswith("not run") for _, result, _ in results)
    passed = sum(result == "passed" for _, result, _ in results)
    failed = len(results) - passed - not_run
    print(f"{passed} passed, {failed} failed, {not_run} not run")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
