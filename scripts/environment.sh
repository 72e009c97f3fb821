# Sourced by the scripts beside it: makes .venv with Prism in it, from any Python from 3.11 on. Arguments go to pip.
cd "$(dirname "${BASH_SOURCE[0]}")/.."

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo "$@"; else return 1; fi
}

# Debian packages, where this is Debian and we may; quiet, and no failure where not.
debian_packages() {
    command -v apt-get >/dev/null || return 1
    as_root true || return 1
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >/dev/null 2>&1
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null 2>&1
}

find_python() {
    local name
    for name in "${PYTHON:-python3}" python3.11 python3.12 python3.13 python3.14; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo "$name"; return; fi
    done
    echo "Prism needs Python 3.11 or newer; set PYTHON to one." >&2
    return 1
}

make_environment() {
    local python
    if [ ! -x .venv/bin/pip ]; then
        python=$(find_python) || exit 1
        if ! "$python" -c 'import ensurepip, venv' 2>/dev/null && ! debian_packages python3-venv; then
            echo "$python cannot make virtual environments; on Debian: apt-get install python3-venv" >&2
            exit 1
        fi
        "$python" -m venv .venv || exit 1
    fi
    .venv/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt "$@" || exit 1
}
