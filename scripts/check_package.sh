#!/usr/bin/env bash
# Builds wheel and sdist and checks them as a user gets them: what the wheel holds, the
# error when no backend is there, then installed with JAX alone, outside the checkout,
# on Python 3.11 and on 3.12 and 3.13 where these are on the machine: the README's first
# example runs there, and makes no connection.
#
#   bash scripts/check_package.sh
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/venv.sh"
install_into_venv dev

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
# Neither the checkout nor the user's Keras settings may be found from here.
unset PYTHONPATH KERAS_BACKEND
export KERAS_HOME="$work/keras"
cd "$work"

say() { printf '[package] %s\n' "$*"; }
fail() {
    say "FAILED: $*"
    exit 1
}
pip_into() { # VENV ARGUMENTS...
    local venv="$1"
    shift
    "$venv/bin/python" -m pip install --quiet --constraint "$ROOT/constraints.txt" "$@"
}

say "building"
"$VENV_PYTHON" -m build --outdir "$work/dist" "$ROOT" >"$work/build.log" 2>&1 ||
    { cat "$work/build.log"; fail "python -m build"; }
wheel="$(echo dist/*.whl)"
sdist="$(echo dist/*.tar.gz)"
"$VENV_PYTHON" "$ROOT/tests/packaging_smoke.py" contents "$wheel" "$sdist"

python="$VENV_PYTHON"
say "clean environment, $("$python" --version), no backend"
"$python" -m venv clean
pip_into clean "$wheel"
if clean/bin/python -c "import keras_elmo" >"$work/no_backend.log" 2>&1; then
    fail "import keras_elmo without a backend did not fail"
fi
message="$(tail -n 1 "$work/no_backend.log")"
case "$message" in
    *ImportError*) ;;
    *) cat "$work/no_backend.log"; fail "no ImportError without a backend" ;;
esac
for extra in tensorflow jax torch; do
    case "$message" in
        *"keras-elmo[$extra]"*) ;;
        *) fail "the error without a backend does not name keras-elmo[$extra]: $message" ;;
    esac
done

use() { # VENV: the installed package at work
    KERAS_BACKEND=jax "$1/bin/python" -W error "$ROOT/tests/packaging_smoke.py" use "$ROOT"
    KERAS_BACKEND=jax "$1/bin/python" -W error "$ROOT/tests/packaging_smoke.py" example "$ROOT/README.md"
    KERAS_BACKEND=jax "$1/bin/keras-elmo" --help >/dev/null
    KERAS_BACKEND=jax "$1/bin/python" -m keras_elmo --help >/dev/null
}

say "the wheel with JAX"
pip_into clean "$wheel[jax]"
use clean
say "the sdist with JAX"
pip_into clean --force-reinstall --no-deps "$sdist"
use clean

# With pyenv a version's own name may be a stand-in that runs under its version only.
find_other() { # MAJOR.MINOR
    local candidate
    for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
        if [ "$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$1" ]; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    return 1
}
for version in 3.12 3.13; do
    if ! python="$(find_other "$version")"; then
        say "skipped: no Python $version that runs on this machine"
        continue
    fi
    say "clean environment, $("$python" --version), the wheel with JAX"
    "$python" -m venv "clean$version"
    pip_into "clean$version" "$wheel[jax]"
    use "clean$version"
    rm -rf "clean$version"
done
say "all passed in $SECONDS s"
