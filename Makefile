# rocmtx: the commands people type. `make` or `make help` lists them.
#
# PYTHON=python3.12     another Python for the environment (3.11 or newer)
# TORCH=cpu             another build of torch: auto, cpu, rocm, default, keep (see scripts/install.py)
# TORCH_INDEX=https://… a mirror of PyTorch's own package index
# PORT=8890             another port for `make lab`
# ARGS="--no-browser"   more options for `make lab`
# SECONDS=600           a longer `make fuzz`

PYTHON ?= python3
TORCH ?= auto
TORCH_INDEX ?=
PORT ?= 8888
ARGS ?=
SECONDS ?= 60
VENV := .venv
BIN := $(VENV)/bin
INPUTS := pyproject.toml constraints/cpu.txt scripts/install.py
DEMO := $(VENV)/.installed-demo
TEST := $(VENV)/.installed-test
BROWSER := $(VENV)/.browser
BUILT := src/rocmtx/labextension src/rocmtx/views/static
export VENV TORCH TORCH_INDEX

.DEFAULT_GOAL := help
.PHONY: help demo lab test unit check frontend screenshots bench fuzz clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(DEMO) ## install, run the quickstart notebook on a small model, print what came out
	@$(BIN)/python scripts/demo.py

lab: $(DEMO) ## open the quickstart notebook in JupyterLab
	@$(BIN)/python scripts/install.py bundle
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) --port=$(PORT) --LabApp.news_url= \
		--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate notebooks/01_quickstart.ipynb $(ARGS)

test: $(TEST) $(BROWSER) ## everything: checks, then all tests, in a browser too
	@$(MAKE) --no-print-directory check
	@$(BIN)/python scripts/install.py bundle
	$(BIN)/python -m pytest

unit: $(TEST) ## the quick tests: no browser, no demo model
	$(BIN)/python -m pytest -m "not browser and not demo"

check: $(TEST) ## lint, types, layers, and the committed front end against its source
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	@$(MAKE) --no-print-directory frontend
	$(BIN)/python -m pytest -q tests/test_layers.py tests/test_surface.py

frontend: $(TEST) ## build the front end anew; fails when the committed bundle differs from its source
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/frontend.sh $(BUILT)

screenshots: $(TEST) $(BROWSER) ## make the pictures of the panel for the README
	$(BIN)/python scripts/install.py bundle
	$(BIN)/python scripts/screenshot.py

bench: $(DEMO) ## measure start-up, and streaming against plain Transformers
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/streaming.py

fuzz: $(TEST) ## feed odd files and texts to the readers for SECONDS=60
	$(BIN)/python tests/unit/facts/fuzz.py --seconds $(SECONDS)

clean: ## remove what was built and installed here
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf labextension/node_modules labextension/lib labextension/*.tsbuildinfo
	find src tests scripts benchmarks -name __pycache__ -prune -exec rm -rf {} +

$(DEMO): $(INPUTS)
	@$(PYTHON) scripts/install.py demo

$(TEST): $(INPUTS)
	@$(PYTHON) scripts/install.py test

$(BROWSER): | $(TEST)
	@$(BIN)/python scripts/chromium.py && touch $@
