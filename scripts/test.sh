#!/usr/bin/env bash
# Installs the package, all three backends and the development tools into .venv/ and
# checks everything: ruff, pyright, then the tests once a backend.
#
#   bash scripts/test.sh [--all] [pytest arguments]
#
# --all runs the tests marked `slow` too. Anything else goes to pytest as it is, for
# example: bash scripts/test.sh -k highway
# BACKENDS="jax torch" runs these only. WORKERS=1 runs one test at a time; two do by
# default. PYTHON names the Python of a new .venv/.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/venv.sh"

arguments=(--durations=10 -n "${WORKERS:-2}")
for argument in "$@"; do
    if [ "$argument" = --all ]; then
        arguments+=(-m "")
    else
        arguments+=("$argument")
    fi
done
[ -t 1 ] && arguments+=(--color=yes)

install_into_venv tensorflow jax torch tuner plot probe tensorboard parquet ray hub keras-hub serving litert onnx openvino docs dev

called_from="$PWD"
cd "$ROOT"
# A relative folder is meant from where the script was called.
case "${KERAS_ELMO_TEST_DATA:-/}" in
    /*) ;;
    *) export KERAS_ELMO_TEST_DATA="$called_from/$KERAS_ELMO_TEST_DATA" ;;
esac
# Each worker has a core: torch's threads would wait for each other.
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
# TensorFlow's log lines on finding no GPU; pyright's on a newer release.
export TF_CPP_MIN_LOG_LEVEL="${TF_CPP_MIN_LOG_LEVEL:-2}" PYRIGHT_PYTHON_IGNORE_WARNINGS=1

# The tests of pages are skipped without one.
"$VENV_PYTHON" -m tests.evaluation.install_browser || true

logs="$(mktemp -d)"
trap 'rm -rf "$logs"' EXIT
failed=0
summary=()

check() { # NAME COMMAND...: runs it, and goes on whatever it returns
    local name="$1" started=$SECONDS told=passed closing
    shift
    printf '\n== %s\n' "$name"
    if ! "$@" 2>&1 | tee "$logs/$name"; then
        told=FAILED
        failed=1
    fi
    closing="$(tail -n 1 "$logs/$name")"
    summary+=("$(printf '%-18s %s in %d s   %s' "$name" "$told" $((SECONDS - started)) "$closing")")
}

check ruff-check "$VENV_PYTHON" -m ruff check .
check ruff-format "$VENV_PYTHON" -m ruff format --check .
check pyright "$VENV_PYTHON" -m pyright
for backend in ${BACKENDS:-tensorflow jax torch}; do
    check "pytest-$backend" env KERAS_BACKEND="$backend" \
        "$VENV_PYTHON" -m pytest "${arguments[@]}"
done

printf '\n== summary\n'
printf '%s\n' "${summary[@]}"
exit "$failed"
