# Build outputs live outside the checkout, so that every clone on a machine shares them.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/chronos/target
DENY_VERSION := 0.20.2
SCHEMATHESIS_VERSION := 4.32.5

ROCKSDB_ENV = CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)-rocksdb LIBCLANG_PATH=/usr/lib/llvm-14/lib \
	BINDGEN_EXTRA_CLANG_ARGS="-I$$(gcc -print-file-name=include)"

# Node's own tool does not install from a lock file that was written on another platform; pnpm does.
PNPM := npm exec --yes pnpm@10.34.9 -- --dir dashboard
DASHBOARD := dashboard/dist/site/index.html
DASHBOARD_SOURCES := $(shell find dashboard -name node_modules -prune -o -name dist -prune -o -type f -print)

.PHONY: help run install dashboard dashboard-if-possible dashboard-check test-dashboard chromium test test-crash test-hostile test-fuzz openapi proto test-rocksdb test-chaos libclang postgres check bench format lint licences

help: ## Say what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 15

run: dashboard-if-possible ## Build the daemon and serve at 127.0.0.1:8080; ARGS are further flags
	cargo run --locked --profile quick --package chronos-server -- serve $(ARGS)

install: dashboard-if-possible ## Install the command `chronos`, optimised
	cargo install --locked --path crates/chronos-server

# Whoever has no Node gets everything else, and a page that says how to get the dashboard.
dashboard-if-possible:
	@if ! node --version >/dev/null 2>&1; then \
		echo "There is no Node here, so this builds without the dashboard" >&2; \
	elif ! $(MAKE) --no-print-directory dashboard; then \
		echo "The dashboard could not be built, so this goes on without it" >&2; \
	fi

dashboard: $(DASHBOARD) ## Build the dashboard, which the next build puts into the binary

$(DASHBOARD): dashboard/node_modules/.installed $(DASHBOARD_SOURCES)
	$(PNPM) --silent build --logLevel warn
	@touch $@

dashboard/node_modules/.installed: dashboard/package.json dashboard/pnpm-lock.yaml
	$(PNPM) install --frozen-lockfile --silent
	@touch $@

test: postgres chromium dashboard ## Run every test: unit, property, conformance, seeded histories, examples, documentation, the dashboard
	cargo test --locked --features chronos-store/postgres
	$(LOOK)

# Pictures of every page are left beside the build's other outputs.
LOOK = CHRONOS_BIN=$(CARGO_TARGET_DIR)/debug/chronos CHRONOS_SHOTS=$(CARGO_TARGET_DIR)/dashboard $(PNPM) --silent e2e

test-dashboard: postgres chromium dashboard ## Try the dashboard out in a browser, against the real daemon
	cargo build --locked --package chronos-server
	$(LOOK)

chromium:
	@if [ -z "$$CHRONOS_CHROMIUM" ] && ! [ -x /usr/bin/chromium ]; then \
		if [ "$$(id -u)" = 0 ]; then sudo=; \
		elif command -v sudo >/dev/null; then sudo=sudo; \
		else echo "Tests need a browser: run 'apt-get install chromium' as root" >&2; exit 1; fi; \
		$$sudo apt-get update --quiet=2 && \
		$$sudo apt-get install --quiet=2 --yes --no-install-recommends chromium; \
	fi

test-crash: ## Kill the daemon under load at least 100 times, and check that nothing is lost or doubled
	CHRONOS_CRASH_KILLS=$${CHRONOS_CRASH_KILLS:-100} \
		cargo test --locked --package chronos-server --test it crash::a_daemon -- --nocapture

test-hostile: ## Have endpoints pour 10 GiB over the scheduler, and check that its memory stays as it is
	CHRONOS_HOSTILE_GIB=$${CHRONOS_HOSTILE_GIB:-10} cargo test --locked --package chronos-engine \
		--features http --test it http::hostile -- --nocapture

openapi: ## Write openapi.json anew from the code, and the dashboard's types from it
	CHRONOS_WRITE_OPENAPI=1 cargo test --locked --features chronos-store/postgres documenting::the_document
	@$(MAKE) --no-print-directory dashboard/node_modules/.installed
	$(PNPM) --silent types

proto: ## Write the gRPC contract's Rust types anew
	CHRONOS_WRITE_PROTO=1 cargo test --locked --package chronos-server --test it contract::

test-chaos: postgres ## Let nodes and their database fail at random for CHRONOS_CHAOS_MINUTES (5)
	CHRONOS_CHAOS_SECONDS=$$(( $${CHRONOS_CHAOS_MINUTES:-5} * 60 )) \
		cargo test --locked --package chronos-server --test it cluster::chaos -- --nocapture

# Schemathesis comes from PyPI, once per machine.
FUZZ_VENV := $(CARGO_TARGET_DIR)/fuzz-venv
test-fuzz: ## Send the real daemon thousands of requests made up from its own document
	@test -x $(FUZZ_VENV)/bin/schemathesis || \
		(python3 -m venv $(FUZZ_VENV) && $(FUZZ_VENV)/bin/pip install --quiet "schemathesis==$(SCHEMATHESIS_VERSION)")
	cargo build --locked --package chronos-server
	PATH="$(FUZZ_VENV)/bin:$$PATH" sh tools/fuzz.sh $(CARGO_TARGET_DIR)/debug/chronos

# The C++ of RocksDB compiles for a quarter of an hour, once per machine, and has outputs of its own so
# that no other build waits for it.
test-rocksdb: libclang ## Run the conformance, key-value and damage tests on the RocksDB engine
	$(ROCKSDB_ENV) cargo test --locked --package chronos-store --features rocksdb --test it rocksdb

# Tests start private servers of their own; Debian must not start any beside them. PgBouncer and a library
# that shows a process another time of day are for the tests of a cluster.
postgres:
	@missing=; \
	if [ -z "$$CHRONOS_PG_BIN" ] && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && \
		! command -v initdb >/dev/null; then missing="postgresql"; fi; \
	if [ -z "$$CHRONOS_PGBOUNCER" ] && ! PATH="$$PATH:/usr/sbin" command -v pgbouncer >/dev/null; then \
		missing="$$missing pgbouncer"; fi; \
	if ! ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1; then missing="$$missing libfaketime"; fi; \
	if [ -n "$$missing" ]; then \
		if [ "$$(id -u)" = 0 ]; then sudo=; \
		elif command -v sudo >/dev/null; then sudo=sudo; \
		else echo "Tests need $$missing: run 'apt-get install $$missing' as root" >&2; exit 1; fi; \
		$$sudo apt-get update --quiet=2 && \
		$$sudo apt-get install --quiet=2 --yes --no-install-recommends postgresql-common && \
		echo 'create_main_cluster = false' | $$sudo tee -a /etc/postgresql-common/createcluster.conf >/dev/null && \
		$$sudo env RUNLEVEL=1 apt-get install --quiet=2 --yes --no-install-recommends $$missing; \
	fi

libclang:
	@if ! ls /usr/lib/llvm-14/lib/libclang.so* >/dev/null 2>&1; then \
		if [ "$$(id -u)" = 0 ]; then sudo=; \
		elif command -v sudo >/dev/null; then sudo=sudo; \
		else echo "RocksDB needs libclang to build: run 'apt-get install libclang1-14' as root" >&2; exit 1; fi; \
		$$sudo apt-get update --quiet=2 && $$sudo apt-get install --quiet=2 --yes libclang1-14; \
	fi

check: format lint dashboard-check licences ## Check format, lints, types, licences and sources

dashboard-check: dashboard/node_modules/.installed
	$(PNPM) --silent check

format:
	cargo fmt --all --check

lint:
	cargo clippy --locked --workspace --all-targets --features chronos-store/postgres -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" cargo doc --locked --no-deps --quiet --features chronos-store/postgres

# The advisory database lives on the network; `cargo deny check advisories` asks it.
licences:
	@cargo deny --version 2>/dev/null | grep -q . || \
		CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/tools cargo install --locked cargo-deny@$(DENY_VERSION)
	cargo fetch --locked --quiet
	cargo deny --locked --offline check bans licenses sources

bench: postgres chromium dashboard ## Measure, print the figures with their ceilings, and fail where one is not met
	cargo build --locked --quiet --release --package chronos-server
	cargo run --locked --quiet --release --package chronos-bench
