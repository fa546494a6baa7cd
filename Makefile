# Everything runs in .venv, which the first target that needs it makes from pyproject.toml.
PY := .venv/bin/python
SETUP := .venv/.ready

.PHONY: demo test bench lint fmt clean

demo: $(SETUP)
	.venv/bin/shoal demo

test: $(SETUP) lint
	$(PY) -m pytest

bench: $(SETUP)
	$(PY) -m benchmarks

lint: $(SETUP)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

fmt: $(SETUP)
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

$(SETUP): pyproject.toml
	python3 -m venv .venv
	$(PY) -m pip install -q --disable-pip-version-check -e '.[dev]'
	touch $(SETUP)

clean:
	rm -rf .venv
