# Everything happens in .venv; nothing here needs a key, a token or Docker.
PYTHON ?= python3.12
PY := .venv/bin/python
