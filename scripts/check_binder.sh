#!/bin/sh
# Do what Binder does with binder/, in a clean virtual environment: install, postBuild, start, open the quickstart, run it.
#
#   scripts/check_binder.sh           all steps
#   scripts/check_binder.sh --no-run  without running the notebook
#
# PYTHON names the Python to use (default python3). Where PyTorch's own index does not answer, the line that names it is
# left out, and the constraint alone chooses torch.
set -eu

PYTHON="${PYTHON:-python3}"
NOTEBOOK=notebooks/01_quickstart.ipynb
TOKEN=check
root="$(cd "$(dirname "$0")/.." && pwd)"
work="$(mktemp -d)"
server=""

finish() {
    status=$?
    trap - EXIT INT TERM
    if [ -n "$server" ] && kill "$server" 2>/dev/null; then
        wait "$server" 2>/dev/null || true
    fi
    if [ "$status" -ne 0 ] && [ -s "$work/server.log" ]; then
        tail -n 30 "$work/server.log" >&2
    fi
    rm -rf "$work"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

start="$(date +%s)"
step() {
    printf '== %4s s  %s\n' "$(($(date +%s) - start))" "$*"
}

fail() {
    printf 'check_binder: %s\n' "$*" >&2
    exit 1
}

# Ask the server for a path; prints the body, fails on an HTTP error.
ask() {
    curl --fail --silent --show-error --noproxy '*' --max-time 20 --header "Authorization: token $TOKEN" "$address$1"
}

step "a clean copy of the repository"
mkdir "$work/repo"
cd "$root"
git ls-files --cached --others --exclude-standard -z | xargs -0 sh -c '
    for file; do [ ! -f "$file" ] || printf "%s\0" "$file"; done' sh | tar -c --null -T - | tar -x -C "$work/repo"
cd "$work/repo"

step "a virtual environment, and nothing of this account's"
"$PYTHON" -m venv "$work/venv"
for name in $(env | sed -n 's/^\(JUPYTER[A-Z_]*\|IPYTHONDIR\|PYTHONPATH\)=.*/\1/p'); do
    unset "$name"
done
export PATH="$work/venv/bin:$PATH" VIRTUAL_ENV="$work/venv" PIP_DISABLE_PIP_VERSION_CHECK=1
export JUPYTER_CONFIG_DIR="$work/config" JUPYTER_DATA_DIR="$work/data" JUPYTER_RUNTIME_DIR="$work/run"
export IPYTHONDIR="$work/ipython" HF_HOME="$work/hub"

index="$(sed -n 's/^--extra-index-url *//p' binder/requirements.txt)"
if ! curl --silent --head --output /dev/null --connect-timeout 3 --max-time 5 "$index/torch/"; then
    echo "   $index does not answer: its line is left out"
    sed -i '/^--extra-index-url/d' binder/requirements.txt
fi

step "pip install -r binder/requirements.txt"
pip install --quiet -r binder/requirements.txt
# From here on the caches are new too: the model is converted as on Binder.
export XDG_CACHE_HOME="$work/cache"
python -c 'import torch; assert torch.version.hip is None and torch.version.cuda is None, torch.__version__; print("   torch", torch.__version__)'

step "binder/postBuild"
./binder/postBuild

step "binder/start jupyter lab"
port="$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
address="http://127.0.0.1:$port"
CPU_LIMIT=2 ./binder/start jupyter lab --no-browser --allow-root --ip=127.0.0.1 --port="$port" --port-retries=0 \
    --IdentityProvider.token="$TOKEN" >"$work/server.log" 2>&1 &
server=$!
tries=0
until ask /api/status >"$work/status.json" 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 120 ] || fail "the server did not answer within a minute"
    kill -0 "$server" 2>/dev/null || fail "the server ended"
    sleep 0.5
done
echo "   /api/status: $(cat "$work/status.json")"

opened="$(curl --silent --noproxy '*' --max-time 20 --location --output "$work/page.html" --write-out '%{url_effective}' \
    --cookie-jar "$work/cookies" "$address/?token=$TOKEN")"
echo "   the start page is ${opened#"$address"}"
case "$opened" in
*"/lab/tree/$NOTEBOOK"*) ;;
*) fail "the start page is not the quickstart" ;;
esac
grep -q '"name": "rocmtx"' "$work/page.html" || fail "the page does not load rocmtx's extension"
ask "/api/contents/$NOTEBOOK?content=0" | grep -q '"type": *"notebook"' || fail "the server does not show $NOTEBOOK"
echo "   /rocmtx/version: $(ask /rocmtx/version)"

if [ "${1:-}" != "--no-run" ]; then
    step "the quickstart, from top to bottom"
    jupyter nbconvert --to notebook --execute --stdout "$NOTEBOOK" >"$work/executed.ipynb" 2>"$work/run.log" ||
        { tail -n 30 "$work/run.log" >&2; fail "the quickstart failed"; }
    grep -q Paris "$work/executed.ipynb" || fail "the quickstart did not answer"
fi
step "Binder would open the quickstart"
