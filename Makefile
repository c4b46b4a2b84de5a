PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo docs test test-all test-neural test-web test-cluster test-integrations test-generic test-bounds coverage dist faults faults-long types kernels install clean

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

$(VENV)/documenting: $(VENV)/running
	$(INSTALL) '.[docs]'
	touch $@

# The pages as a site, in build/site; a warning is an error, and nothing is loaded from elsewhere.
docs: $(VENV)/documenting
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

CHECKED := src tests scripts bench
PYTEST := $(BIN)/python -m pytest -q --numprocesses auto --maxprocesses 8 --dist loadfile

test: install
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(MAKE) --no-print-directory --jobs 2 types kernels
	$(PYTEST) --ignore tests/web

# What takes minutes and says little that is new: every option beside every other.
test-all: export LATREE_TESTS := all
test-all: test

types:
	$(BIN)/mypy

# Compiled before there are several processes, which would each compile the same.
kernels:
	$(BIN)/python -m tests.warm

# The page of `latree serve` in a browser; skipped where chromium is not installed.
# axe-core looks for what stands in the way of people; where npm cannot fetch it, its tests are skipped.
test-web: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'selenium>=4.20'
	-test -d .axe || npm install --silent --no-save --no-audit --no-fund --prefix .axe axe-core@4
	$(BIN)/python -m pytest -q tests/web

# Ray and pyarrow are large, and no part of what the other tests need.
test-cluster: install
	$(INSTALL) '.[cluster,parquet]'
	$(BIN)/python -m pytest -q tests/test_cluster.py tests/test_bulk.py

# torch is larger still; without it the tests of grammars that read in context are skipped.
test-neural: export OMP_NUM_THREADS := 1
test-neural: install
	$(INSTALL) '.[neural]'
	$(BIN)/python -m pytest -q tests/test_neural.py tests/test_kinds.py tests/test_option_effects.py -k neural

# So are spaCy, pandas and Hugging Face's data sets.
test-integrations: install
	$(INSTALL) '.[spacy,nltk,pandas,datasets]'
	$(BIN)/python -m pytest -q $(wildcard tests/test_integrations*.py)

# What share of the lines of Python the tests run; `make coverage COVERED=tests/test_tree.py` asks for some alone.  Kernels
# are compiled, and their lines count as not run.
COVERED ?= tests
coverage: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'coverage>=7.6'
	$(BIN)/coverage run --source src/latree -m pytest -q $(COVERED)
	$(BIN)/coverage report --skip-covered --skip-empty

# A release: wheel and source archive, looked at as a package index would, and tried in an empty environment.
dist: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'build>=1.2' 'twine>=6'
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/python scripts/smoke.py dist/*.whl

# The same tests with kernels for any processor of this architecture: what rounding decides is not what they assert.
test-generic: export NUMBA_CPU_NAME := generic
test-generic: export NUMBA_CPU_FEATURES :=
test-generic: export NUMBA_CACHE_DIR := $(CURDIR)/.numba_cache/generic

# And with kernels that look where they read and write: otherwise nobody is told of what lies beyond the end of an array.
test-bounds: export NUMBA_BOUNDSCHECK := 1
test-bounds: export NUMBA_CACHE_DIR := $(CURDIR)/.numba_cache/bounds

test-generic test-bounds: install
	rm -rf $(NUMBA_CACHE_DIR)
	$(BIN)/python -m tests.warm
	$(PYTEST) --ignore tests/web

# Model files and inputs that are damaged, hostile sentences, trainings that are killed, very many sentences: counted,
# and seeded, so that what is found can be had again (docs/figures.md).
FAULTS := $(BIN)/python -m bench.faults

faults: install
	$(FAULTS).models --count 200 --bounds
	$(FAULTS).inputs --count 20000
	$(FAULTS).sentences --count 50
	$(FAULTS).kills --count 15
	$(FAULTS).leaks --count 2000

faults-long: install
	$(FAULTS).models --count 5000
	$(FAULTS).models --count 1000 --bounds
	$(FAULTS).inputs --count 500000
	$(FAULTS).sentences --count 500
	$(FAULTS).kills --count 100
	$(FAULTS).nodes --count 20
	$(FAULTS).leaks --count 100000

clean:
	rm -rf $(VENV) .axe .numba_cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage dist build out
