# Every command for people and CI. CI calls nothing else.

.PHONY: help build page test test-core test-page test-cluster test-upstream test-scenarios deep lint fmt ci bench bench-page bench-cluster soak control-plane dist image measure site golden golden-page golden-ship fuzz deny deny-local test-ship ci-ship

help: ## Prints this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /|/' | awk -F'|' '{printf "  make %-15s %s\n", $$1, $$2}'

build: ## Builds the binary for everyday use; the image has `--profile dist`, which takes longer to build
	cargo build --release

page: ## Builds the page of `-o html` from `ui`, which is checked in
	tools/page.sh types
	tools/page.sh build src/page/page.html

test: test-core test-page test-cluster ## Runs every test

test-core: ## Runs the tests that need no cluster
	cargo test --workspace --lib --test tests --test simulation

test-page: ## Tests the page in Chromium, or says how many tests did not run
	@tests/page/test.sh

deep: ## Compares 100,000 random pairs of conditions (BAYPLAN_PAIRS, BAYPLAN_PAIRS_SEED) with a brute force and z3; plays 5000 worlds of devices (BAYPLAN_SEEDS)
	BAYPLAN_PAIRS=$${BAYPLAN_PAIRS:-100000} cargo test --release -p bayplan-compare -- random_conditions
	BAYPLAN_SMT=$${CARGO_TARGET_DIR:-target}/pairs.smt BAYPLAN_PAIRS=$${BAYPLAN_PAIRS:-100000} cargo test --release -p bayplan-compare -- --ignored --exact smt::random_pairs_are_written
	tools/z3.sh $${CARGO_TARGET_DIR:-target}/pairs.smt
	BAYPLAN_SEEDS=$${BAYPLAN_SEEDS:-5000} cargo test --release --test simulation -- --exact no_device_is_given_twice

test-cluster: ## Runs the tests against a real kube-apiserver and etcd, or says how many did not run
	@tests/control-plane/test.sh

test-upstream: build ## Runs kube-scheduler's integration tests with our binary in its place (half an hour)
	tests/upstream/run.sh "$${BAYPLAN_BINARY:-$${CARGO_TARGET_DIR:-target}/release/bayplan}"

test-scenarios: control-plane ## Compares what the real kube-scheduler does in the scenarios with what is recorded (ten minutes)
	cargo test --test cluster -- --ignored --nocapture kube_scheduler_does_what_is_recorded

test-ship: control-plane ## Tests what ships: chart, manifests, alerts, archives, image, site, and the way of an operator on a real API server
	tests/ship/test.sh

ci-ship: ## Runs the quick tests of test-ship, unless they have passed on this machine and nothing that they read has changed
	tests/ship/test.sh --quick --if-changed

measure: control-plane ## Measures what `make dist` and `make image` made: sizes, the time to the first bound pod, memory when idle
	tests/ship/measure.py

control-plane: ## Builds kube-apiserver, kube-scheduler and etcd once per machine (seven minutes on two cores)
	@tests/control-plane/build.sh >/dev/null

dist: ## Makes archives of static binaries for Linux, with licences and checksums, in `dist`
	tools/dist.sh

image: ## Makes an image of the binaries in `dist`, as an OCI archive
	tools/image.py

site: ## Makes a site of the pages, with search, in `target/site/book`, and checks its links
	tools/site_pages.py

lint: ## Checks formatting and clippy, also for the build without the feature `cluster`
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy --workspace --exclude bayplan-cluster --lib --bins --no-default-features -- -D warnings

fmt: ## Formats the code
	cargo fmt --all

ci: lint deny-local test ## Runs what every change must pass
	@BAYPLAN_BINARY=$${CARGO_TARGET_DIR:-$(CURDIR)/target}/debug/bayplan $(MAKE) --no-print-directory ci-ship # that of the tests: no second build

bench: ## Measures decisions, rules, compilation and waiting pods; prints figures and never fails
	cargo bench --no-default-features

bench-page: ## Measures the page of 5,000 nodes with 100,000 pods (BAYPLAN_NODES, BAYPLAN_PODS) in Chromium
	cargo build --release
	BAYPLAN_BINARY=$${CARGO_TARGET_DIR:-target}/release/bayplan BAYPLAN_CHROMIUM=$${BAYPLAN_CHROMIUM:-$$(command -v chromium)} tools/page.sh node tests/page/bench.mjs

bench-cluster: control-plane ## Measures pods per second on a real API server, beside kube-scheduler
	cargo test --profile dist --test cluster -- --ignored --nocapture bench

soak: control-plane ## Changes a cluster at random for ten minutes (BAYPLAN_SOAK_MINUTES) under two replicas
	cargo build --release
	BAYPLAN_BINARY=$${CARGO_TARGET_DIR:-target}/release/bayplan cargo test --test cluster -- --ignored --nocapture soak

golden: ## Rewrites the expected outputs of the tests; read the difference before you commit it
	BAYPLAN_GOLDEN=write cargo test --test tests

golden-page: ## Writes the pictures of the views anew (tests/page/looks); look at each before you commit it
	BAYPLAN_GOLDEN=write BAYPLAN_PAGE_TESTS=tests/page/looks.test.mjs tests/page/test.sh --test-name-pattern='looks of the views'

golden-ship: ## Writes the manifests of `deploy/` anew from the chart, and the picture of the README
	BAYPLAN_GOLDEN=write tests/ship/test.sh -k 'generated_files or picture'

fuzz: ## Fuzzes every parser for a minute (BAYPLAN_FUZZ_SECONDS)
	command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked
	@# Sanitizers are unstable features of the compiler; RUSTC_BOOTSTRAP allows them in this toolchain.
	export RUSTC_BOOTSTRAP=1; for target in $$(cargo fuzz list); do \
	    cargo fuzz run $$target -- -max_total_time=$${BAYPLAN_FUZZ_SECONDS:-60} -timeout=60 -rss_limit_mb=8192 || exit 1; done

deny: ## Checks licences, sources and advisories of the dependencies
	tools/cargo-deny.sh --log-level error check

deny-local: ## Checks the same without advisories, which need the internet
	tools/cargo-deny.sh --log-level error check bans licenses sources
