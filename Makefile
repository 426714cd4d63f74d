# The one door. `make` lists what there is; CI calls the same targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CARGO ?= cargo
# Options for `make demo`, `make lab`, `make figures` and `make bench`.
ARGS ?=
# The plans for `make figures`: those that the simulator runs alone.
PLANS ?= $(filter-out experiments/testbed-%,$(wildcard experiments/*.toml))
# The plan for `make lab`.
P ?= experiments/sar-1.toml
# How the program is built that makes the docs.
PROFILE ?=
# Seconds per fuzz target.
S ?= 60
# Seeded worlds of the adversary.
N ?= 20000

##@ Use

.PHONY: help
help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## send over two shaped paths on this machine and compare with each path alone (ARGS="--help")
	$(CARGO) run --release --package anabranch-cli --bin anabranch -- demo $(ARGS)

.PHONY: lab
lab: ## run an experiment and hold it against its claim (P=experiments/sar-1.toml ARGS=--quick)
	$(CARGO) run --release --package anabranch-cli --bin anabranch -- lab run $(P) $(ARGS)

.PHONY: figures
figures: ## run every simulated experiment, report all, renew docs/claims.md; hours, and goes on where it was (ARGS=--quick)
	$(CARGO) build --release --package anabranch-cli
	status=0; \
	$(CARGO) run --release --quiet --package anabranch-cli --bin anabranch -- \
	  lab run $(PLANS) --keep experiments/results $(ARGS) || status=$$?; \
	$(CARGO) run --release --quiet --package anabranch-cli --bin anabranch -- lab report; \
	$(MAKE) docs PROFILE=--release; \
	exit $$status

.PHONY: figures-testbed
figures-testbed: setup ## the same for the experiments on real hosts, in real time: as root, with nothing else on the machine
	@$(MAKE) figures PLANS="$(wildcard experiments/testbed-*.toml)"

##@ Test

.PHONY: setup
setup: ## install the Debian packages that the tests need, where they are missing
	@scripts/setup

.PHONY: test
test: setup ## run every test, doc tests included
	$(CARGO) test --workspace

.PHONY: interop
interop: setup ## conversations with stacks of others: dcsctp, sctp-proto, usrsctp, pion, aiortc
	$(CARGO) test --package anabranch-interop

.PHONY: adversary
adversary: ## random worlds against two hosts (N=20000)
	ANABRANCH_SEEDS=$(N) $(CARGO) test --package anabranch-tests adversary

.PHONY: soak
soak: ## 1,000 associations through 30 simulated minutes of storms: nothing leaks, sticks or gets lost
	ANABRANCH_SOAK_ASSOCIATIONS=1000 ANABRANCH_SOAK_ROUNDS=6 ANABRANCH_SOAK_SECONDS=300 \
	  $(CARGO) test --release --package anabranch-tests --test soak -- --nocapture

.PHONY: fuzz
fuzz: ## every fuzz target (S=60 seconds each)
	@scripts/fuzz $(S)

.PHONY: bench
bench: ## what the core and the whole cost, beside others (ARGS="--json")
	$(CARGO) build --release --package anabranch-bench --features peers
	for program in core sack_cost set_ups idle_memory simulated_seconds loopback; do \
	  $(CARGO) run --release --quiet --package anabranch-bench --features peers --bin $$program -- $(ARGS); done

.PHONY: bench-ns3
bench-ns3: ## simulated packets per second beside ns-3's (needs libns3-dev)
	@scripts/bench-ns3

.PHONY: bench-sweep
bench-sweep: ## how long a whole sweep takes on all cores: 55 simulated runs of 300 s, nothing of it known before
	$(CARGO) build --release --package anabranch-cli
	cache=$$(mktemp -d); trap 'rm -rf "$$cache"' EXIT; \
	time $(CARGO) run --release --quiet --package anabranch-cli --bin anabranch -- \
	  lab run bench/sweep.toml --cache "$$cache" $(ARGS)

.PHONY: bench-testbed
bench-testbed: ## how late packets are on a test bed of more than 200 Mbit/s (as root)
	$(CARGO) run --release --package anabranch-bench --bin testbed -- $(ARGS)

##@ Check

.PHONY: check
check: fmt clippy arch lines no-std doc ## what must hold for every commit

.PHONY: fmt
fmt: ## formatting, without changing it
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check

.PHONY: clippy
clippy: ## lints, all targets, warnings are errors
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(CARGO) clippy --manifest-path fuzz/Cargo.toml --all-targets --quiet -- -D warnings

.PHONY: arch
arch: ## dependency arrows, one home for per-path state, no_std
	$(CARGO) xtask arch

.PHONY: lines
lines: ## length of files, and the question in their first line
	$(CARGO) xtask lines

.PHONY: conformance
conformance: ## each rule of the standards: implemented, tested, or marked; quotations; docs/conformance.md
	$(CARGO) xtask conformance

.PHONY: no-std
no-std: ## that the core crates and their dependencies do not link std
	$(CARGO) xtask no-std

.PHONY: doc
doc: ## API documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --lib --no-deps --quiet

.PHONY: docs
docs: ## make the pages that are made: docs/policies.md, docs/claims.md, docs/conformance.md
	$(CARGO) run --quiet $(PROFILE) --package anabranch-cli --bin anabranch -- policies --markdown > docs/policies.md.new
	mv docs/policies.md.new docs/policies.md
	$(CARGO) run --quiet $(PROFILE) --package anabranch-cli --bin anabranch -- lab claims > docs/claims.md.new
	mv docs/claims.md.new docs/claims.md
	$(CARGO) xtask conformance --markdown

.PHONY: deny
deny: ## licences, sources and banned crates (needs: cargo install --locked cargo-deny)
	$(CARGO) deny --log-level error check bans licenses sources

.PHONY: typos
typos: ## spelling (needs: cargo install --locked typos-cli)
	typos

.PHONY: ci
ci: ## what CI runs
	@.ci/run
