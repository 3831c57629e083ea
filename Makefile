# Build outputs live outside the checkout, so that every clone on a machine shares them.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/chronos/target
DENY_VERSION := 0.20.2

.PHONY: help run test check bench format lint licences

help: ## Say what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: ## Run a program with an embedded scheduler for ten seconds
	cargo run --quiet --package chronos-engine --example embed

test: ## Run every test: unit, property, conformance, seeded histories, examples, documentation
	cargo test --locked --all-targets
	cargo test --locked --doc

check: format lint licences ## Check format, lints, licences and sources

format:
	cargo fmt --all --check

lint:
	cargo clippy --locked --workspace --all-targets -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" cargo doc --locked --no-deps --quiet

# The advisory database lives on the network; `cargo deny check advisories` asks it.
licences:
	@cargo deny --version 2>/dev/null | grep -q . || \
		CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/tools cargo install --locked cargo-deny@$(DENY_VERSION)
	cargo fetch --locked --quiet
	cargo deny --locked --offline check bans licenses sources

bench: ## Measure, print the figures with their ceilings, and fail where one is not met
	cargo run --locked --quiet --release --package chronos-bench
