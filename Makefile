# Every command a contributor needs; README.md explains the two that matter.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ENVIRONMENTS := $(sort $(dir $(wildcard environments/*/pyproject.toml)))
EDITABLE := $(foreach folder,$(ENVIRONMENTS),-e $(folder:/=))
MANIFESTS := pyproject.toml $(ENVIRONMENTS:=pyproject.toml)
DEMO_STORE ?= demo.db
TORCH ?= torch==2.13.0

.PHONY: setup setup-train setup-dev demo test test-slow test-all lint format bench clean

setup: $(VENV)/.setup ## make .venv with the `agentgym` command in it
setup-train: $(VENV)/.setup-train ## the same with what training and its plots need
setup-dev: $(VENV)/.setup-dev ## the same with every extra, the tests' and the linters' packages

$(VENV)/.setup: $(MANIFESTS)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "agentgym needs Python 3.11 or newer: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/pip install --quiet -e . $(EDITABLE)
	touch $@

# torch comes first and by itself: what depends on it would take the largest build there is.
$(VENV)/.setup-train: $(VENV)/.setup
	$(BIN)/pip install --quiet '$(TORCH)'
	$(BIN)/pip install --quiet -e '.[plot,train]'
	touch $@

# The benchmarks' wheels come without their dependencies, which are every model vendor's clients.
$(VENV)/.setup-dev: $(VENV)/.setup-train
	$(BIN)/pip install --quiet -e '.[browser,docker,llm,mcp,mysql,parquet,plot,postgres,train]' \
		-e 'environments/tools[agentdojo,bfcl,llm]' -e 'environments/webshop[site]' --group dev
	$(BIN)/pip install --quiet --no-deps agentdojo==0.1.35 bfcl-eval==2026.3.23
	touch $@

demo: setup ## the main job: oracle, null and random agents on the shipped SQL questions
	$(BIN)/agentgym eval sql --agent oracle,null,random --store $(DEMO_STORE)

test: setup-dev ## the tests, without the slow ones
	$(BIN)/pytest -n 2 -m "not slow"

test-slow: setup-dev ## only the slow ones
	$(BIN)/pytest -n 2 -m slow

test-all: test-slow test ## every test

lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	for conftest in environments/*/tests/conftest.py; do $(BIN)/mypy $$conftest || exit 1; done

format: setup-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup-dev ## measure; writes bench.json and prints a table
	$(BIN)/python -m tests.bench --json bench.json

clean:
	rm -rf $(VENV) dist build bench.json $(DEMO_STORE)
