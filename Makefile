# make app             start the app on http://localhost:8501, or the next free port (PORT=8600 make app: there)
# make site            Headscope without a server, in the folder site/ (ARGS="elsewhere --checkpoint reverse": another)
# make test            the quick tests, one visit to every page in Chromium included (ARGS="-k attention": some of them)
# make test-all        everything that protects a release, style and types included: what continuous integration runs
# make test-long       load, replicas behind nginx, long fuzzing
# make mutants         do the tests find known defects? (ARGS="causal-mask": this one)
# make lint            style and types of the Python
# make frontend        build the JavaScript into transformer/view/dist/ (needs Node and npm)
# make frontend-lint   style and types of the JavaScript, and whether the built scripts are up to date
# make frontend-test   its unit tests
# make bench           the ratios of benchmarks/
# make screenshots     pictures of every page, light and dark
# make graphs          the graphs of the bundled models for the browser, after a change of transformer/model/ or weights
# make texts           locale/headscope.pot, for translators
# make docs            the tables of documents that come from data: pages, lessons, heads, licences
#
# Each makes .venv on its first run and installs the tested versions (constraints.txt) there; later runs start at once.

PORT ?=
ARGS ?=
PYTHON = .venv/bin/python
# Files as they are collected: files of few long tests would otherwise come last, when one worker is left.
PYTEST = $(PYTHON) -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder
# Two workers with a Chromium each on two cores: what failed only because the machine was busy passes alone. Only after
# exit status 1: with any other one, pytest ended before it had run all tests.
AGAIN = $(PYTHON) -m pytest -m "not long" --last-failed --last-failed-no-failures none
INSTALL = $(PYTHON) -m pip install --disable-pip-version-check --quiet --constraint constraints.txt

# The first Python that runs, is new enough and can make virtual environments. Each is tried by running it: a name on
# the PATH may be an empty shim. PYTHON3 in the environment is tried first.
FIND = for python in $$PYTHON3 python3.13 python3.12 python3.11 python3 python; do \
	"$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& command -v "$$python" && exit; done; \
	echo "Python 3.11 or newer, with its venv module, was not found. Install it (on Debian: python3 and python3-venv)" \
	"or name one: PYTHON3=/path/to/python3.12 make" >&2; exit 1

.PHONY: app site test test-all test-long mutants lint frontend frontend-lint frontend-test bench screenshots graphs texts docs clean

app: .venv/installed-app
	$(PYTHON) -m transformer app $(if $(PORT),--port $(PORT))

site: .venv/installed-app
	$(PYTHON) -m transformer site $(or $(ARGS),site)

# The programs that tests need (Chromium, nginx, redis-server) are installed once, before the workers of pytest-xdist start.
test: .venv/installed-test
	$(PYTHON) -m tests.browser.find
	$(PYTEST) -m "not slow and not long" $(ARGS)

test-all: lint frontend-lint frontend-test
	$(PYTHON) -m tests.browser.find
	$(PYTEST) -m "not long" --cache-clear $(ARGS) || { test $$? -eq 1 && $(AGAIN); }

test-long: .venv/installed-test
	$(PYTHON) -m tests.browser.find
	$(PYTHON) -m pytest -m long $(ARGS)
	HEADSCOPE_FUZZ=4 $(PYTHON) -m pytest -m slow tests/fuzz tests/cli/test_fuzz.py tests/pages/test_fuzz.py \
		tests/checkpoints/test_archive.py

mutants: .venv/installed-test frontend/node_modules
	$(PYTHON) -m tests.mutants $(ARGS)

bench: .venv/installed-bench
	$(PYTHON) -m benchmarks $(ARGS)

screenshots: .venv/installed-test
	$(PYTHON) -m tests.browser.screenshots $(ARGS)

graphs: .venv/installed-web
	$(PYTHON) -m transformer.web.folder

texts: .venv/installed-test
	$(PYTHON) -m tests.support.locale_template

docs: .venv/installed-test
	$(PYTHON) -m tests.support.documents

lint: .venv/installed-test
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy

NPM = npm --prefix frontend

frontend: frontend/node_modules .venv/installed-app
	$(PYTHON) -m transformer.view.generate
	$(NPM) run build

frontend-lint: frontend/node_modules
	$(NPM) run lint
	$(NPM) run types
	$(NPM) run check

frontend-test: frontend/node_modules
	$(NPM) test

frontend/node_modules: frontend/package-lock.json
	$(NPM) ci
	@touch $@

clean:
	rm -rf .venv frontend/node_modules

$(PYTHON):
	@found=$$($(FIND)) && echo "Making .venv with $$found" && "$$found" -m venv --clear .venv

# A stamp is younger than what it was made from: a changed pyproject.toml or constraints.txt, or another Python,
# installs again.
.venv/installed-app: EXTRAS =
.venv/installed-test: EXTRAS = [test]
.venv/installed-bench: EXTRAS = [bench]
.venv/installed-web: EXTRAS = [web]
.venv/installed-%: pyproject.toml constraints.txt hatch_build.py $(PYTHON)
	@echo "Installing the tested versions into .venv (a few minutes, this once)"
	@$(INSTALL) --editable '.$(EXTRAS)'
	@touch $@
