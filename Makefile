# Everything happens in .venv; nothing here needs a key, a token or Docker.
#
#   make demo    the Acme workspace, replayed; then a prompt
#   make test    every check and every test, three at a time (PYTEST_ARGS="-k privacy" for some of the tests)
#   make lint    the checks alone
#   make bench   what things cost here, as ratios to a bare query (ARGS=--json)
#   make docs    docs/CYPHER.md anew, after engine/queries.cypher changed
#   make venv    the environment alone; PYTHON=… says of which Python
#   make requirements   pins anew, after pyproject.toml or requirements/*.in changed
#   make clean   removes the environment and every cache

PYTHON ?=
PYTEST_ARGS ?= -n 3
ARGS ?=
PY := .venv/bin/python
READY := .venv/.ready

help:
	@sed -n 's/^#   //p' Makefile

venv: $(READY)

demo: $(READY)
	@$(PY) -m bot demo $(ARGS)

test: lint
	@$(PY) -m pytest $(PYTEST_ARGS)

lint: $(READY)
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check
	@$(PY) -m mypy
	@.venv/bin/lint-imports --no-logo

docs: $(READY)
	@$(PY) -c "import sys, engine.queries; sys.stdout.write(engine.queries.rendered())" > docs/CYPHER.md

bench: $(READY)
	@$(PY) -m tests.evals.bench $(ARGS)

$(READY): requirements/dev.txt requirements/venv.sh
	@PYTHON="$(PYTHON)" sh requirements/venv.sh
	@touch $@

COMPILE = CUSTOM_COMPILE_COMMAND="make requirements" .venv/bin/pip-compile --quiet --allow-unsafe \
	--strip-extras --no-annotate --no-emit-index-url --no-emit-trusted-host --no-emit-find-links

requirements: $(READY)
	@$(PY) -m pip install --quiet pip-tools==7.6.2
	@$(COMPILE) $(ARGS) -o requirements/base.txt pyproject.toml requirements/base.in
	@$(COMPILE) $(ARGS) -o requirements/dev.txt requirements/dev.in
	@for file in base dev; do cat requirements/windows.txt >> requirements/$$file.txt; done

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build

.PHONY: help venv demo test lint docs bench requirements clean
