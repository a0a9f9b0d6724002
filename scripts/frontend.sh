#!/bin/sh
# Build the front end from its source and compare it with what is committed: scripts/frontend.sh BUILT…
# Needs node; a machine without it is told so and loses only this check (continuous integration has node).
set -eu
cd "$(dirname "$0")/.."

if ! command -v npm >/dev/null 2>&1; then
    echo "****************************************************************************" >&2
    echo "* NOT CHECKED: the front end. There is no npm here; install Node.js 20.19+ *" >&2
    echo "****************************************************************************" >&2
    exit 0
fi

cd labextension
# An unchanged lock file means an unchanged node_modules: nothing is fetched again.
if ! cmp -s package-lock.json node_modules/.lock-of-this; then
    npm ci --no-audit --no-fund
    cp package-lock.json node_modules/.lock-of-this
fi
npm run check
npm run build
cd ..

if ! git diff --exit-code --stat -- "$@"; then
    echo "The committed front end is not what its source builds: commit these files." >&2
    exit 1
fi
if [ -n "$(git ls-files --others --exclude-standard -- "$@")" ]; then
    git ls-files --others --exclude-standard -- "$@" >&2
    echo "The build makes files that are not committed: commit them." >&2
    exit 1
fi
