#!/usr/bin/env bash
# Pretrains a small biLM for about two minutes on the English that every Python has on
# board, measures it, and looks at one word in two uses. Needs Python 3.11 alone:
# makes .venv/ in the checkout and installs the package with JAX.
#
#   bash scripts/demo.sh [--seconds 150] [--epochs 4]
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/venv.sh"

install_into_venv jax

cd "$ROOT"
mkdir -p runs
# The quickest of the three to train on a CPU.
KERAS_BACKEND=jax "$VENV_PYTHON" scripts/demo/demo.py --output runs/demo "$@"
