# Every command of the project. `make` alone lists them. The first that needs it sets up `.venv`, which takes minutes.
#
#   make test PYTHON=python3.12           another Python: remakes .venv when it holds a different one
#   make train CONFIG=configs/wild.yaml   another game
#   make train ARGS="--help"              more arguments for the program behind a target (train, exploit, test,
#                                         test-browser, test-slow, bench)
#   make exploit POLICY=greedy            the agent to exploit, by name or file

PYTHON ?= python3
JOBS ?= 2
ARGS ?=
CONFIG ?= configs/forest.yaml
POLICY ?= runs/forest/policy.onnx
# The tests that `make coverage` runs uncompiled, which is slow: those of the rules.
COVERAGE_TESTS ?= tests/test_forest_rules.py tests/test_forest_observation.py tests/test_forest_redeal.py \
	tests/test_wild_rules.py tests/test_wild_powers.py tests/test_wild_setup.py tests/test_wild_redeal.py \
	tests/test_wild_heuristic.py tests/test_drawing_forest.py tests/test_drawing_wild.py tests/test_telling.py \
	tests/test_state_record.py tests/test_agents_basic.py

PY := .venv/bin/python
READY := .venv/.ready
# Ray pins an older Gymnasium, so it has an environment of its own.
RLLIB := .venv-rllib

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help train train-rllib exploit test test-rllib test-browser test-slow lint format types coverage bench \
	notebook pictures clean FORCE

help:  ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

train: $(READY)  ## train a policy, export it, measure it; runs/<name>/report.md tells how it went
	$(PY) -m training.selfplay --config $(CONFIG) $(ARGS)

train-rllib: CONFIG = configs/rllib_forest.yaml
train-rllib: $(RLLIB)/.ready  ## train on Ray RLlib, on one machine or many
	$(RLLIB)/bin/python -m training.rllib_selfplay --config $(CONFIG) $(ARGS)

exploit: $(READY)  ## train a policy against a frozen one; the report tells what it wins from it at least
	$(PY) -m training.exploiter --config $(CONFIG) --config configs/exploiter.yaml --opponents '["$(POLICY)"]' $(ARGS)

test: $(READY)  ## run the tests
	$(PY) -m pytest -q -n $(JOBS) $(ARGS)

test-rllib: $(RLLIB)/.ready  ## run the tests of training on Ray RLlib
	$(RLLIB)/bin/python -m pytest -q tests/test_rllib.py $(ARGS)

test-browser: $(READY)  ## run the tests of the pages in Chromium, which must be installed
	$(PY) -m pytest -q -m browser $(ARGS)

test-slow: $(READY)  ## run the heavier checks
	$(PY) -m pytest -q -n $(JOBS) -m slow $(ARGS)

lint: $(READY)  ## check style and format
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

format: $(READY)  ## mend what `make lint` can mend by itself
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

types: $(READY)  ## check types
	$(PY) -m mypy

coverage: $(READY)  ## measure, uncompiled, that the tests reach every line and branch of the rules
	$(PY) -m coverage erase
	NUMBA_DISABLE_JIT=1 $(PY) -m coverage run -m pytest -q -n $(JOBS) $(COVERAGE_TESTS)
	$(PY) -m coverage combine -q
	$(PY) -m coverage report --include='spirits_env/games/*' --fail-under=100

bench: $(READY)  ## measure speed
	$(PY) -m benchmarks $(ARGS)

notebook: $(READY)  ## run docs/first_steps.ipynb and keep its outputs in the file: some minutes
	$(PY) docs/notebook.py $(ARGS)

pictures: $(READY)  ## rewrite the tables and pictures of the docs; those of pages need Chromium
	$(PY) docs/make.py
	$(PY) docs/screenshots.py

clean:  ## remove what can be made again; keeps runs/
	rm -rf .venv $(RLLIB) build dist .coverage .coverage.* htmlcov .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A Python asked for by name replaces an environment of another version; the default leaves it alone.
ifneq ($(filter command environment,$(firstword $(origin PYTHON))),)
VERSION := import sys; print(sys.version_info[:2])
ifneq ($(shell $(PYTHON) -c '$(VERSION)' 2>/dev/null),$(shell test -x $(PY) && $(PY) -c '$(VERSION)' 2>/dev/null))
$(READY): FORCE
REMAKE := --clear
endif
endif

# The stamp goes first and comes back last, so an interrupted set-up is taken up again by the next command.
# torch, by far the largest, is installed on its own: what was interrupted later needn't repeat it.
$(READY): pyproject.toml constraints.txt
	@rm -f $@
	@echo 'Setting up .venv'
	@if [ -n '$(REMAKE)' ] || ! $(PY) -m pip --version >/dev/null 2>&1; then $(PYTHON) -m venv --clear .venv; fi
	$(PY) -m pip install -q -c constraints.txt torch
	$(PY) -m pip install -q -c constraints.txt -e '.[policy,render,play,train,dev]'
	@touch $@

$(RLLIB)/.ready: pyproject.toml constraints.txt constraints-rllib.txt
	@rm -f $@
	@echo 'Setting up $(RLLIB)'
	@if ! $(RLLIB)/bin/python -m pip --version >/dev/null 2>&1; then $(PYTHON) -m venv --clear $(RLLIB); fi
	@grep -v '^gymnasium==' constraints.txt > $(RLLIB)/constraints.txt
	$(RLLIB)/bin/python -m pip install -q -c $(RLLIB)/constraints.txt torch
	$(RLLIB)/bin/python -m pip install -q -c $(RLLIB)/constraints.txt -c constraints-rllib.txt \
		-e '.[rllib]' pytest pytest-timeout
	@touch $@
