# Everything runs in .venv, which the first target that needs it makes from pyproject.toml.
PY := .venv/bin/python
SETUP := .venv/.ready
# What the page scanner is compiled with.
HAS_HEADERS := test -f "$$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h"
# Rules of accessibility, for tests of the dashboard.
AXE := .venv/axe
# Every command that the tests start would be compiled anew, a third of its start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test pytest servers azurite bench soak simulate openapi tenants suites wasted fuzz docs schema screenshots bench-dashboard lint fmt clean

demo: $(SETUP)
	.venv/bin/shoal demo

# Lint beside the tests: it has one core to itself otherwise, and the other rests.
test: $(SETUP) servers
	@$(MAKE) --no-print-directory -j2 pytest lint

# Collected once before: each of the parallel processes would compile all tests anew on a fresh machine.
pytest: $(SETUP)
	@$(PY) -m pytest -n 0 --collect-only -qq > .venv/collected 2>&1 || { cat .venv/collected; exit 1; }
	$(PY) -m pytest

# What tests start processes of. Without root they say what is missing, and are skipped (CI=true: fail).
servers: export DEBIAN_FRONTEND := noninteractive
servers:
	@command -v curl > /dev/null && command -v jq > /dev/null || test $$(id -u) != 0 || \
		{ apt-get update -q && apt-get install -q --yes --no-install-recommends curl jq; } || true
	@command -v redis-server > /dev/null || test $$(id -u) != 0 || \
		{ apt-get update -q && apt-get install -q --yes --no-install-recommends redis-server; } || true
	@command -v nginx > /dev/null || test -x /usr/sbin/nginx || test $$(id -u) != 0 || \
		{ apt-get update -q && apt-get install -q --yes --no-install-recommends nginx-light; } || true
	@command -v tinyproxy > /dev/null && command -v microsocks > /dev/null && test -x /usr/sbin/danted || test $$(id -u) != 0 || \
		{ apt-get update -q && apt-get install -q --yes --no-install-recommends tinyproxy-bin microsocks dante-server; } || true
	@command -v promtool > /dev/null || test $$(id -u) != 0 || \
		{ apt-get update -q && apt-get install -q --yes --no-install-recommends prometheus; } || true
	@test -x /usr/lib/chromium/chromium-headless-shell || command -v chromium > /dev/null || test $$(id -u) != 0 || \
		{ apt-get update -q && apt-get install -q --yes --no-install-recommends chromium-headless-shell; } || true
	@command -v mariadbd > /dev/null || test -x /usr/sbin/mariadbd || test $$(id -u) != 0 || \
		{ apt-get update -q && apt-get install -q --yes --no-install-recommends mariadb-server; } || true
	@test -n "$(wildcard /usr/lib/postgresql/*/bin/postgres)" || command -v postgres > /dev/null || test $$(id -u) != 0 || \
		{ apt-get update -q && apt-get install -q --yes --no-install-recommends postgresql; } || true
	@command -v npm > /dev/null || test $$(id -u) != 0 || \
		{ apt-get update -q && apt-get install -q --yes --no-install-recommends npm; } || true
	@test -f $(AXE)/node_modules/axe-core/axe.min.js || ! command -v npm > /dev/null || \
		npm install --silent --no-save --ignore-scripts --prefix $(AXE) axe-core@4.14.0 || true

# Azure's blob storage on loopback, for tests that are skipped without it. It takes 370 MB.
azurite:
	npm install --silent --no-save --ignore-scripts --prefix .venv/azurite azurite@3.37.0

# PARTS=tls measures that one only.
bench: $(SETUP)
	$(PY) -m benchmarks $(PARTS)

soak: $(SETUP)
	$(PY) -m benchmarks soak fleet-soak
	$(PY) -m benchmarks.render_soak

# URLS=1000000 fills it with fewer than ten million.
simulate: $(SETUP)
	$(PY) -m benchmarks.frontier $(if $(URLS),--urls $(URLS))

# The dashboard over 500 jobs, a million pages and 5,000 hosts in PostgreSQL.
bench-dashboard: $(SETUP) servers
	$(PY) -m benchmarks.dashboard

# OPTIONS="--seed 7": any of schemathesis.
openapi: $(SETUP) servers
	$(PY) -m tests.control.run_schemathesis $(OPTIONS)

# How much one tenant of a fleet can slow another down, with nothing else running here.
tenants: $(SETUP)
	SHOAL_TIMED=1 $(PY) -m pytest -n 0 -s tests/control/test_tenants.py

# DIR=folder: test suites of other projects, whose checkouts are in that folder (docs/conformance.md).
suites: $(SETUP)
	$(PY) -m tests.suites $(DIR)

# SECONDS=60: how long the scanner, with sanitizers, reads mutated pages. Ends with the first fault.
fuzz: export ASAN_OPTIONS := detect_leaks=0
fuzz: export PYTHONMALLOC := malloc
fuzz: $(SETUP)
	mkdir -p build/fuzz
	$(PY) build_scanner.py --into build/fuzz -g -fsanitize=address,undefined -fno-sanitize-recover=all
	LD_PRELOAD=$$(gcc -print-file-name=libasan.so) $(PY) -m tests.extract.fuzz_scanner build/fuzz $(if $(SECONDS),--seconds $(SECONDS))

# How many requests crawls of wikis, a blog and git browsers waste; written in docs/wasted-requests.md. SITES="cgit gitweb": those.
wasted: export DEBIAN_FRONTEND := noninteractive
wasted: $(SETUP) servers
	@test -d /usr/share/mediawiki && test -d /usr/share/dokuwiki && test -d /usr/share/wordpress && \
		test -x /usr/lib/cgit/cgit.cgi && test -x /usr/share/gitweb/gitweb.cgi || test $$(id -u) != 0 || \
		{ apt-get update -q && apt-get install -q --yes --no-install-recommends mediawiki dokuwiki wordpress \
		wordpress-theme-twentytwentythree cgit gitweb libcgi-pm-perl php-cli php-sqlite3 php-mysql php-xml php-mbstring \
		php-intl; }
	$(PY) -m benchmarks.wasted $(SITES)

# The documentation as a site in build/site. To read it: python -m http.server -d build/site
docs: $(SETUP)
	$(PY) -m tests.docs_site build/docs
	.venv/bin/zensical build --strict -f mkdocs.yml

# Pictures of the docs, from the practice site; takes four minutes.
screenshots: $(SETUP) servers
	$(PY) -m tests.dashboard.screenshots docs/images

# The script that creates the tables of a new home, from src/shoal/store/tables/.
schema: $(SETUP)
	$(PY) -m shoal.store.database.sqlite_script > .venv/schema.sql
	mv .venv/schema.sql src/shoal/store/database/sqlite_schema.sql

lint: $(SETUP)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

fmt: $(SETUP)
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

$(SETUP): pyproject.toml hatch_build.py build_scanner.py src/shoal/extract/scan_page.c
	@$(HAS_HEADERS) || test $$(id -u) != 0 || \
		{ apt-get update -q && apt-get install -q --yes --no-install-recommends python3-dev; } || true
	@$(HAS_HEADERS) || echo "Python.h is missing (python3-dev): the page scanner cannot be compiled, and its tests fail"
	python3 -m venv .venv
	$(PY) -m pip install -q --disable-pip-version-check -e '.[dev]'
	touch $(SETUP)

clean:
	rm -rf .venv
