# Sourced by the other scripts: install Prism in .venv with any Python from 3.11 on. Arguments are for pip.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo "$@"; else return 1; fi
}

# Run apt-get without questions and output, unless it fails. dpkg needs the sbin folders, which a lean PATH omits.
apt() {
    local said
    said=$(as_root env DEBIAN_FRONTEND=noninteractive PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" \
        apt-get -qq -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" 2>&1 </dev/null) && return
    printf '%s\n' "$said" | tail -n 5 >&2
    return 1
}

# Install Debian packages on Debian if permitted; fail otherwise.
debian_packages() {
    command -v apt-get >/dev/null && as_root true || return 1
    echo "Installing $* with apt-get."
    apt update || echo "apt-get update failed; trying with the lists there are." >&2
    apt install --no-install-recommends "$@"
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
    if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
        python=$(find_python) || exit 1
        if ! "$python" -c 'import ensurepip, venv' 2>/dev/null && ! debian_packages python3-venv; then
            echo "$python cannot make virtual environments; on Debian: apt-get install python3-venv" >&2
            exit 1
        fi
        "$python" -m venv --clear .venv || exit 1
    fi
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt "$@" || exit 1
}
