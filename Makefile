# Everything starts from nothing but Python 3.11 or newer: `make demo`, `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
INSTALLED := $(VENV)/installed
READY := $(VENV)/ready
TRAINED := .cache/nursery
MASKED := --kind masked --corpus enwik8 --short 0.25 --mask-rate 0.3 --threads 1
CAUSAL := --kind causal --corpus enwik8 --short 0.25 --loss-rate 0.33 --threads 1
MINI := --freeze-embeddings --learning-rate 5e-4
PEOPLE := $(foreach time,1 2 3 4,--corpus wordnet) --single 0.3

# compiled modules are kept, whatever the machine says: tests start many interpreters
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo tour test fast lowest lint wheel fuzz faults bench bench-nulls bench-verdicts bench-detection bench-peers docs nursery sensitivity clean

## a first look at the shipped models, and its page: nothing is fetched
demo: $(INSTALLED)
	$(BIN)/trueprobe run quick --out runs/demo
	$(BIN)/trueprobe report runs/demo

## all four papers, with SmolLM2, CrowS-Pairs and StereoSet, which are fetched once
tour: $(INSTALLED)
	$(BIN)/trueprobe fetch smollm2-135m crows-pairs stereoset-dev
	$(BIN)/trueprobe run tour --out runs/tour
	$(BIN)/trueprobe report runs/tour

## everything that must hold: style, types, all tests
test: lint
	sh tools/browser.sh
	$(BIN)/python -m pytest -n 2 --dist worksteal

## the tests that take seconds
fast: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

## the same with the lowest versions that pyproject.toml allows, in an environment of its own
lowest:
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-lowest.txt -e ".[dev]"
	$(VENV)-lowest/bin/python -m pytest -n 2 --dist worksteal -m "not slow" \
		--deselect tests/test_docs.py::test_the_reference_is_what_the_code_gives # typer words its defaults otherwise

## wheel and sdist in dist/; the wheel is tried in an empty environment
wheel: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[release]"
	$(BIN)/python tools/wheel.py

lint: $(READY)
	$(BIN)/ruff check src tests bench tools
	$(BIN)/ruff format --check src tests bench tools
	$(BIN)/mypy

## mutated files of every format, for as long as one likes: make fuzz SECONDS=600; findings are saved in .cache/findings
SECONDS ?= 3600
fuzz: $(READY)
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS) --first $$(date +%s) --save .cache/findings

## every command that writes, killed a hundred times, stopped, starved, beside itself
faults: $(READY)
	FAULTS=100 $(BIN)/python -m pytest -n 2 --dist worksteal tests/faults

## the engine and training against the bare network, as ratios; counting in CPU seconds; a question of the explorer
bench: $(READY)
	$(BIN)/python bench/engine.py
	$(BIN)/python bench/engine.py --causal
	$(BIN)/python bench/engine.py --probe distractors
	$(BIN)/python bench/engine.py --probe distractors --causal
	$(BIN)/python bench/pretrain.py
	$(BIN)/python bench/pretrain.py --causal
	$(BIN)/python bench/explore.py
	$(BIN)/trueprobe run tour --model nursery --model nursery-small --out runs/bench
	$(BIN)/python bench/counting.py runs/bench
	$(BIN)/python bench/scale.py

## minicons, lm-eval and the authors' loops beside trueprobe; ARGS="--minutes 15" goes on where it stopped
bench-peers: $(PEERS)/ready
	$(BIN)/trueprobe fetch all-minilm-l6-v2 smollm2-135m crows-pairs stereoset-dev
	$(PEERS)/bin/python -m bench.peers --write docs/performance.md $(ARGS)

## how often claims are called as published by random networks, with shuffled labels, and where effects are planted
bench-nulls: $(READY)
	nice -n 19 $(BIN)/python bench/null_rates.py --write docs/null-rates.md

## how often intervals miss the truth and verdicts are wrong, on made-up data; an hour on two cores
bench-verdicts: $(READY)
	OMP_NUM_THREADS=1 nice -n 19 $(BIN)/python bench/verdicts.py --write docs/reference/coverage.md

## how near detection limits are to the truth, in made-up models; an hour on two cores
bench-detection: $(READY)
	OMP_NUM_THREADS=1 nice -n 19 $(BIN)/python bench/detection.py --write docs/reference/detection.md

## the documentation as a site, in site/; docs/reference/ is written from the code
docs: $(VENV)/docs-ready
	$(BIN)/python tools/reference.py
	$(BIN)/mkdocs build --strict --quiet
	@echo site/index.html

$(VENV)/docs-ready: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	touch $@

# what a user needs
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV) || { apt-get update && apt-get install -y python3-venv && $(PYTHON) -m venv $(VENV); }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

# and what tests need
$(READY): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

# all of .venv, its torch too, and the peers on top
$(PEERS)/ready: $(READY) bench/peers/requirements.txt
	$(BIN)/python -m venv $(PEERS)
	$(PEERS)/bin/python bench/peers/on_top_of.py $(BIN)/python
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r bench/peers/requirements.txt
	touch $@

## trains the shipped models again, from the text to the card; hours on two cores, goes on where it stopped
nursery: $(READY)
	$(BIN)/trueprobe fetch enwik8 wordnet all-minilm-l6-v2
	$(BIN)/trueprobe pretrain $(MASKED) --size L4-H128 --model-seeds 0..4 --tokens 12M --out $(TRAINED)/nursery
	$(BIN)/trueprobe pretrain $(MASKED) --size L2-H64-A4 --learning-rate 2e-3 --model-seeds 0..4 --tokens 24M --out $(TRAINED)/nursery-small
	$(BIN)/trueprobe pretrain $(CAUSAL) --size L2-H64 --learning-rate 2e-3 --model-seeds 0..2 --tokens 13.5M --out $(TRAINED)/nursery-causal
	$(BIN)/trueprobe pretrain $(MASKED) $(MINI) --start-from all-minilm-l6-v2 --tokens 800k --checkpoints 4 --out $(TRAINED)/first
	$(BIN)/trueprobe pretrain $(MASKED) $(MINI) --start-from $(TRAINED)/first/seed_0 --precision bfloat16 --threads 2 --model-seeds 1 --tokens 9.4M --checkpoints 2 --out $(TRAINED)/second
	test -d $(TRAINED)/mini-before || cp -r $(TRAINED)/second/seed_1 $(TRAINED)/mini-before
	$(BIN)/trueprobe pretrain $(MASKED) $(PEOPLE) --freeze-embeddings --learning-rate 3e-4 --start-from $(TRAINED)/mini-before --precision bfloat16 --model-seeds 2 --tokens 2.6M --checkpoints 2 --out $(TRAINED)/mini
	cd $(TRAINED) && $(abspath $(BIN))/trueprobe run seat --model 'nursery=nursery/seed_*/step_*' --set 'tests=sent-*,*_one_sentence' --set wording=paper --out clusters
	$(BIN)/python tools/nursery.py $(TRAINED)

## detection limits of the probes on the shipped models, for docs/sensitivity.md; hours, goes on where it stopped
SENSITIVITY := .cache/sensitivity
sensitivity: $(INSTALLED)
	$(BIN)/trueprobe fetch wordnet
	for model in nursery nursery-causal mini; do \
		$(BIN)/trueprobe sensitivity --model $$model --association gender-occupation --out $(SENSITIVITY)/$$model || exit; \
	done
	$(BIN)/python tools/sensitivity.py $(SENSITIVITY)/nursery $(SENSITIVITY)/nursery-causal $(SENSITIVITY)/mini

clean:
	rm -rf $(VENV) $(VENV)-lowest $(PEERS) .cache runs site dist
