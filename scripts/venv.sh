# Sourced by the other scripts: one environment, `.venv/` in the checkout, for all.
#
#   . "$(dirname "${BASH_SOURCE[0]}")/venv.sh"
#   install_into_venv jax                       # extras of pyproject.toml, by name
#   install_into_venv tensorflow jax torch dev  # `dev` and `docs` are dependency groups
#   "$VENV_PYTHON" -m ...
#
# Sets ROOT (the checkout), VENV and VENV_PYTHON. PYTHON names another Python than the
# one found. Nothing is installed when all that is asked for is there already; what is
# there is never uninstalled; two scripts at the same time wait for each other.
# Works with the bash 3.2 of macOS.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
VENV="$ROOT/.venv"
VENV_PYTHON="$VENV/bin/python"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

_say() { printf '[venv] %s\n' "$*" >&2; }

_python_version() { # prints MAJOR.MINOR; fails when $1 does not run or is out of range
    "$1" -c 'import sys
v = sys.version_info[:2]
print("%d.%d" % v)
sys.exit(not (3, 11) <= v <= (3, 13))' 2>/dev/null
}

_find_python() {
    local candidate
    if [ -n "${PYTHON:-}" ]; then
        if ! _python_version "$PYTHON" >/dev/null; then
            _say "PYTHON=$PYTHON does not run as Python 3.11, 3.12 or 3.13."
            return 1
        fi
        printf '%s\n' "$PYTHON"
        return
    fi
    # A name on the PATH may be a stand-in that does not run, so each is tried.
    for candidate in python3.11 python3 python3.12 python3.13 python; do
        if _python_version "$candidate" >/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    _say "No Python 3.11, 3.12 or 3.13 found. Install one, or name it: PYTHON=/path/to/python3 bash $0"
    return 1
}

# What an installed environment was made from: when one of these changes, it is old.
_fingerprint() {
    "$VENV_PYTHON" - "$ROOT" <<'PY'
import hashlib, pathlib, sys
root = pathlib.Path(sys.argv[1])
digest = hashlib.sha256(f"{root} {sys.version}".encode())
for name in ("pyproject.toml", "constraints.txt", "keras_elmo/_version.py"):
    digest.update((root / name).read_bytes())
print(digest.hexdigest())
PY
}

# True when every part asked for was installed from the present fingerprint. The stamp
# is one line: the fingerprint, then the parts.
_is_installed() {
    local stamp part
    [ ! -e "$VENV/.installing" ] && [ -r "$VENV/.installed" ] || return 1
    _python_version "$VENV_PYTHON" >/dev/null || return 1
    if [ -n "${PYTHON:-}" ] &&
        [ "$(_python_version "$PYTHON")" != "$(_python_version "$VENV_PYTHON")" ]; then
        return 1
    fi
    read -r stamp <"$VENV/.installed" || return 1
    [ "${stamp%% *}" = "$(_fingerprint)" ] || return 1
    for part in package "$@"; do
        case " $stamp " in *" $part "*) ;; *) return 1 ;; esac
    done
}

_make_venv() {
    local python wanted
    python="$(_find_python)" || return 1
    wanted="$(_python_version "$python")"
    # An installation that did not end may have left half a package, which pip would take
    # for a whole one. While it was only downloading, nothing is lost.
    if [ -e "$VENV/.installing" ] && [ -z "$(find "$VENV"/lib/python*/site-packages \
        -maxdepth 0 -newer "$VENV/.installing")" ]; then
        rm -f "$VENV/.installing"
    fi
    if [ -e "$VENV/.installing" ]; then
        _say "The last installation did not end: making .venv/ anew."
    elif ! _python_version "$VENV_PYTHON" >/dev/null ||
        ! "$VENV_PYTHON" -m pip --version >/dev/null 2>&1; then
        _say "Making .venv/ with $python ($wanted)."
    elif [ -n "${PYTHON:-}" ] && [ "$(_python_version "$VENV_PYTHON")" != "$wanted" ]; then
        _say "PYTHON=$PYTHON is another version than that of .venv/: making it anew."
    else
        return 0
    fi
    # --clear empties the folder first and would remove the running environment's own
    # Python too: look for it before.
    case "$(command -v "$python")" in
        "$VENV"/*) python="$("$python" -c 'import sys; print(sys._base_executable)')" ;;
    esac
    if ! "$python" -m venv --clear "$VENV"; then
        rm -rf "$VENV"
        _say "'$python -m venv' failed. On Debian and Ubuntu: apt-get install python$wanted-venv"
        return 1
    fi
}

_install() {
    local part extras="" groups="" parts="package" stamp old
    _make_venv || return 1
    _is_installed "$@" && return 0 # another script did it while this one waited
    for part in "$@"; do
        parts="$parts $part"
        case "$part" in
            dev | docs) groups="$groups $part" ;;
            *) extras="${extras:+$extras,}$part" ;;
        esac
    done
    # What was there with the same fingerprint stays there.
    if [ -r "$VENV/.installed" ] && read -r stamp <"$VENV/.installed" &&
        [ "${stamp%% *}" = "$(_fingerprint)" ]; then
        for old in ${stamp#* }; do
            case " $parts " in *" $old "*) ;; *) parts="$parts $old" ;; esac
        done
    fi
    _say "Installing keras-elmo${extras:+[$extras]}${groups:+ and groups$groups} into .venv/ (minutes the first time) ..."
    : >"$VENV/.installing"
    set -- --editable "$ROOT${extras:+[$extras]}"
    if [ -n "$groups" ]; then
        # `--group` came with pip 25.1.
        "$VENV_PYTHON" -m pip install --quiet --constraint "$ROOT/constraints.txt" \
            --upgrade "pip>=25.1" || return 1
        : >"$VENV/.installing"
        for part in $groups; do
            set -- "$@" --group "$ROOT/pyproject.toml:$part"
        done
    fi
    "$VENV_PYTHON" -m pip install --quiet --constraint "$ROOT/constraints.txt" "$@" ||
        return 1
    printf '%s %s\n' "$(_fingerprint)" "$parts" >"$VENV/.installed.new"
    mv "$VENV/.installed.new" "$VENV/.installed"
    rm -f "$VENV/.installing"
}

install_into_venv() {
    local python status=0
    _is_installed "$@" && return 0
    python="$(_find_python)" || return 1
    # The lock belongs to file descriptor 9, which this shell and pip share: it is free
    # when both have ended, however they ended. No `flock` command is needed.
    exec 9>"$ROOT/.venv.lock"
    if ! "$python" -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)' 2>/dev/null; then
        _say "Another script installs into .venv/; waiting for it ..."
        "$python" -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)' || return 1
    fi
    _install "$@" || status=$?
    exec 9>&-
    if [ "$status" != 0 ]; then
        _say "The installation failed (see above); the next run tries again."
    fi
    return "$status"
}
