"""A worker of a search on this machine: `python -m keras_elmo.tuning.worker DIR`."""

import sys
from pathlib import Path

from keras_elmo.files import read_json


def main():
    """Runs the search that a directory describes, as one of its workers."""
    from keras_elmo.tuning.command import CALL_FILE, run_call

    call = read_json(Path(sys.argv[1]) / CALL_FILE)
    assert isinstance(call, dict)
    run_call(call)


if __name__ == "__main__":
    main()
