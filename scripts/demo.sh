#!/usr/bin/env bash
# Pretrains a small biLM for about two minutes on the English that every Python has on
# board, measures it, looks at one word in two uses, exports the model for TF Serving and
# asks it there. Needs Python 3.11 alone: makes .venv/ in the checkout and installs the
# package with JAX, and TensorFlow for the export.
#
#   bash scripts/demo.sh [--seconds 150] [--epochs 4]
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/venv.sh"

install_into_venv jax tensorflow serving

cd "$ROOT"
mkdir -p runs
# The quickest of the three to train on a CPU.
KERAS_BACKEND=jax "$VENV_PYTHON" scripts/demo/demo.py --output runs/demo "$@"

# A new export each time, as a new run. The first lines of TensorFlow's are no news.
export TF_CPP_MIN_LOG_LEVEL=3
rm -rf saved_models/demo
KERAS_BACKEND=tensorflow "$VENV_PYTHON" -m keras_elmo export runs/demo/preset \
    --output saved_models/demo
"$VENV_PYTHON" scripts/demo/query.py saved_models/demo
