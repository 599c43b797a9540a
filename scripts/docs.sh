#!/usr/bin/env bash
# Installs the package and what builds its documents into .venv/, and builds them:
# site/index.html is the first page. A link that leads nowhere is an error.
#
#   bash scripts/docs.sh [--run] [mkdocs build's arguments]
#
# --run executes the tutorial first, on KERAS_BACKEND or torch, and keeps its outputs.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/venv.sh"

install_into_venv torch plot docs
cd "$ROOT"
if [ "${1:-}" = --run ]; then
    shift
    KERAS_BACKEND="${KERAS_BACKEND:-torch}" "$VENV_PYTHON" scripts/run_tutorial.py
fi
# The theme tells of other programs of its makers' at each start.
NO_MKDOCS_2_WARNING=1 "$VENV_PYTHON" -m mkdocs build --strict "$@"
