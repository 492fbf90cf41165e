# Everything runs in its own virtual environment; the two commands people need are
# `make run` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# Tests run file by file in so many processes, each with a model of its own (2.5 GB).
WORKERS ?= 2

.PHONY: run test soak check bench install browser clean

run: $(STAMP)
	$(BIN)/seedlens app

install: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "SeedLens needs Python 3.11 or newer; this is %d.%d. Try: make PYTHON=python3.12" % v[:2])'
	@echo "Installing SeedLens into $(VENV) (about 3 GB to download the first time) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --upgrade pip
	@$(BIN)/pip install --quiet -e '.[dev,openvino,distill]'
	@touch $@

browser:
	@sh tests/browser/install_chromium.sh

# One thread each: more threads than cores wait for one another.
test: $(STAMP) browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

# Minutes of killing the app in the middle of work.
soak: $(STAMP) browser
	$(BIN)/python -m pytest -m soak

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/python -m benchmarks.run

clean:
	rm -rf $(VENV) build dist *.egg-info
