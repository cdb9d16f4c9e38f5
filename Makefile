# Everything needs only python3 (3.11 or newer), pip and make. `make help` is the menu.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# A worker for every core, each with one thread: several threads in every worker are many times slower. A file stays with
# one worker, so that what its tests share is made once. For one process:  make test WORKERS=0
WORKERS     ?= auto
PYTEST_ARGS ?=
PYTEST      := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo test quick lint style types docs pytest wheel bench clean

help: ## Show this menu
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(VENV)/.ready ## Set up, take sample scenes apart: demo/report.html, boxes, a picture
	$(BIN)/objectspace demo

# Without its cache mypy keeps one core busy for most of a minute: it works beside the tests.
test: style $(VENV)/.browser ## Set up, check style and types, build the site, run all tests
	$(MAKE) --no-print-directory --jobs 3 types docs pytest

quick: style ## Check style and types, run the tests that are not marked slow
	$(MAKE) --no-print-directory --jobs 2 types pytest SELECT='-m "not slow"'

pytest: $(VENV)/.ready
	$(PYTEST) $(SELECT) $(PYTEST_ARGS)

lint: style types ## Set up, check style and types

style: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/mypy

docs: $(VENV)/.ready ## Set up, build the site into site/; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

wheel: $(VENV)/.ready ## Build what is uploaded, sdist and wheel, into dist/
	$(BIN)/python -m build --no-isolation

bench: $(VENV)/.ready ## Measure: the rates in docs/results.md
	$(BIN)/python -m benchmarks.generation
	$(BIN)/python -m benchmarks.loading
	$(BIN)/python -m benchmarks.step
	$(BIN)/python -m benchmarks.inference

clean: ## Remove the environment and all caches
	rm -rf $(VENV) build dist demo site .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Written last, so a set-up that was interrupted is done again, and a finished one costs nothing.
$(VENV)/.ready: pyproject.toml constraints.txt scripts/system-libraries
	scripts/system-libraries
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[all,dev]"
	touch $@

# Only the tests need it.
$(VENV)/.browser: $(VENV)/.ready
	scripts/system-libraries browser
	touch $@
