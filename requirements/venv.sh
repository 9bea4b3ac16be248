# Builds .venv, or brings it up to date with dev.txt; called by the Makefile, from the root.
# PYTHON says of which Python (default: the first of the usual names that is 3.12 or newer).
set -eu
unset MAKEFLAGS MFLAGS MAKELEVEL

say() { printf '%s\n' "$*" >&2; }
fits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 12))' >/dev/null 2>&1; }

works=no
if [ -x .venv/bin/python ] && fits .venv/bin/python; then works=yes; fi
if [ $works = no ] || [ -n "${PYTHON:-}" ]; then
    chosen=
    for name in ${PYTHON:-python3.12 python3.13 python3.14 python3 python}; do
        if fits "$name"; then chosen=$name && break; fi
    done
    if [ -z "$chosen" ]; then
        say "SecondOrder needs Python 3.12 or newer${PYTHON:+, which $PYTHON is not}; \`make PYTHON=/path/to/python3.12\` says where one is."
        exit 1
    fi
    say "Building .venv with $("$chosen" --version)."
    rm -rf .venv
    if ! "$chosen" -m venv .venv >/dev/null 2>&1; then
        rm -rf .venv
        say "$chosen cannot make a virtual environment; on Debian and Ubuntu, \`apt-get install python3-venv\` brings what is missing."
        exit 1
    fi
fi

pip() { .venv/bin/python -m pip --disable-pip-version-check "$@"; }

if command -v gcc >/dev/null && gcc --version >/dev/null 2>&1; then
    say "Installing what is pinned in requirements/dev.txt; where FalkorDB's wheel does not fit, its server is compiled, which takes about two minutes, once."
    # pip runs this make in its turn: with every processor, and none of our own variables.
    export MAKEFLAGS="-j$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)"
    pip install --quiet --requirement requirements/dev.txt
elif ! pip install --quiet --only-binary falkordblite --requirement requirements/dev.txt; then
    say "The embedded FalkorDB has to be compiled here, and there is no C compiler: \`apt-get install build-essential\` (Debian, Ubuntu) or \`xcode-select --install\` (macOS), then run make again."
    exit 1
fi
pip install --quiet --no-deps --no-build-isolation --editable .
