PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-generic faults faults-long types kernels install clean

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

# What running needs; the developers' tools come on top.
$(VENV)/running: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) .
	touch $@

$(VENV)/installed: $(VENV)/running
	$(INSTALL) '.[dev]'
	touch $@

install: $(VENV)/installed

demo: $(VENV)/running
	$(BIN)/python scripts/demo.py

CHECKED := src tests scripts bench
PYTEST := $(BIN)/python -m pytest -q --numprocesses auto --maxprocesses 8 --dist loadfile

test: install
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(MAKE) --no-print-directory --jobs 2 types kernels
	$(PYTEST)

types:
	$(BIN)/mypy

# Compiled before there are several processes, which would each compile the same.
kernels:
	$(BIN)/python -m tests.warm

# The same tests with kernels for any processor of this architecture: what rounding decides is not what they assert.
test-generic: export NUMBA_CPU_NAME := generic
test-generic: export NUMBA_CPU_FEATURES :=
test-generic: export NUMBA_CACHE_DIR := $(CURDIR)/.numba_cache/generic
test-generic: install
	rm -rf $(NUMBA_CACHE_DIR)
	$(BIN)/python -m tests.warm
	$(PYTEST)

# Model files that are damaged in ways that are counted: none may crash what reads it.
faults: install
	$(BIN)/python -m bench.faults.models --count 1000

faults-long: install
	$(BIN)/python -m bench.faults.models --count 20000

clean:
	rm -rf $(VENV) .numba_cache .mypy_cache .ruff_cache .pytest_cache .hypothesis out
