# Every command a person or CI may run. CI calls nothing else.

# One folder per machine for what is expensive to build, outside the checkout, so that a fresh clone starts warm.
CACHE := $(or $(BAYPLAN_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/bayplan)

.PHONY: help build test test-core test-cluster test-upstream lint fmt ci bench bench-cluster soak control-plane golden fuzz deny

help: ## Prints this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /|/' | awk -F'|' '{printf "  make %-15s %s\n", $$1, $$2}'

build: ## Builds the release binary
	cargo build --release

test: test-core test-cluster ## Runs every test

test-core: ## Runs the tests that need no cluster
	cargo test --lib --test tests --test simulation

test-cluster: control-plane ## Runs the tests against a real kube-apiserver and etcd
	cargo test --test cluster

test-upstream: build ## Runs kube-scheduler's own integration tests with our binary in its place (ten minutes, more at first)
	tests/upstream/run.sh "$${BAYPLAN_BINARY:-$${CARGO_TARGET_DIR:-target}/release/bayplan}"

control-plane: ## Builds kube-apiserver, kube-scheduler and etcd once per machine (seven minutes on two cores)
	@# Status 3, not to be had here: the tests then say that they did not run, and fail where CI is set.
	@tests/control-plane/build.sh >/dev/null || [ $$? -eq 3 ]

lint: ## Formatting, clippy, and the walls: the language and the core build without the cluster room
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	cargo clippy --lib --bins --no-default-features -- -D warnings

fmt: ## Formats the code
	cargo fmt

ci: lint test ## What every landing must pass

bench: ## Times decisions, rules and compilation; prints figures, fails on nothing
	cargo bench

bench-cluster: control-plane ## Pods per second on a real API server, beside the real kube-scheduler
	cargo test --release --test cluster -- --ignored --nocapture bench

soak: control-plane ## Changes everything of a cluster for ten minutes (BAYPLAN_SOAK_MINUTES) under a running scheduler
	cargo test --test cluster -- --ignored --nocapture soak

golden: ## Writes the expected outputs of the tests anew; read the difference before you commit it
	BAYPLAN_GOLDEN=write cargo test --test tests

fuzz: ## Fuzzes every parser, a minute each (BAYPLAN_FUZZ_SECONDS)
	command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked
	@# The compiler's sanitizers count as unstable; RUSTC_BOOTSTRAP has the toolchain of the checkout take them.
	export RUSTC_BOOTSTRAP=1; for target in $$(cargo fuzz list); do \
	    cargo fuzz run $$target -- -max_total_time=$${BAYPLAN_FUZZ_SECONDS:-60} -timeout=10 || exit 1; done

deny: ## Checks licences, sources and advisories of the dependencies
	command -v cargo-deny >/dev/null || cargo install cargo-deny --locked
	cargo deny check
