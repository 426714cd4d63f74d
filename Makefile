# Targets for users, contributors and CI. `make` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CARGO ?= cargo
# Options for `make demo`, `make lab`, `make figures` and `make bench`.
ARGS ?=
# The plans for `make figures`: those that need the simulator only.
PLANS ?= $(filter-out experiments/testbed-%,$(wildcard experiments/*.toml))
# The plan for `make lab`.
P ?= experiments/sar-1.toml
# Cargo profile of the program that generates the docs.
PROFILE ?=
# Seconds per fuzz target.
S ?= 60
# Triple of this machine.
HOST = $(shell rustc --version --verbose | sed -n 's/^host: //p')
# The sockets library alone: cargo optimizes a crate across crates only if all its types allow that, and `rlib` does not.
BUILD_SOCKETS = $(CARGO) rustc --release --package anabranch-capi --lib --crate-type cdylib
# Number of randomized simulations.
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
lab: ## run an experiment and check its claims (P=experiments/sar-1.toml ARGS=--quick)
	$(CARGO) run --release --package anabranch-cli --bin anabranch -- lab run $(P) $(ARGS)

.PHONY: install-sockets
install-sockets: ## build and install the sockets library (PREFIX=/usr/local DESTDIR=)
	$(BUILD_SOCKETS)
	PREFIX="$(or $(PREFIX),/usr/local)" DESTDIR="$(DESTDIR)" scripts/install-sockets

.PHONY: wheel
wheel: setup ## build the Python package as a wheel in target/wheels
	@scripts/wheel build

.PHONY: static
static: ## build the program as a static binary in target/packages/static
	@scripts/package static

.PHONY: deb
deb: ## build Debian packages of the program and of the sockets library in target/packages
	@scripts/package deb

.PHONY: image
image: ## build a container image with the program alone in target/packages (as root; installs buildah)
	@scripts/package image

.PHONY: sbom
sbom: ## write the bill of materials (CycloneDX) of the program into target/packages
	@scripts/package sbom

.PHONY: crates
crates: ## package all crates as for publication and build them from these packages
	@scripts/package crates

.PHONY: packages
packages: static deb image sbom crates wheel ## build all packages

.PHONY: figures
figures: ## run and report all simulated experiments, update docs/claims.md; takes hours, resumable (ARGS=--quick)
	$(CARGO) build --release --package anabranch-cli
	status=0; \
	$(CARGO) run --release --quiet --package anabranch-cli --bin anabranch -- \
	  lab run $(PLANS) --keep experiments/results $(ARGS) || status=$$?; \
	$(CARGO) run --release --quiet --package anabranch-cli --bin anabranch -- lab report; \
	$(MAKE) docs PROFILE=--release; \
	exit $$status

.PHONY: figures-testbed
figures-testbed: setup ## the same for the experiments on real hosts; as root, on an idle machine
	@$(MAKE) figures PLANS="$(wildcard experiments/testbed-*.toml)"

##@ Test

.PHONY: setup
setup: ## install missing Debian packages that the tests need
	@scripts/setup

# Cargo unites the features of all packages that a command names. Commands that name the whole workspace build libraries once.
.PHONY: test
test: setup ## run all tests and doc tests
	$(CARGO) test --workspace
	$(CARGO) test --workspace --features anabranch/dtls,anabranch/serde,anabranch/tracing --test features

.PHONY: interop
interop: setup ## run interoperability tests with dcsctp, sctp-proto, usrsctp, pion, aiortc
	$(CARGO) test --package anabranch-interop

.PHONY: programs
programs: setup ## run unmodified SCTP programs over the sockets library (docs/sockets.md)
	$(CARGO) test --package anabranch-capi --test unmodified

.PHONY: valgrind-sockets
valgrind-sockets: setup ## run the programs in C of the sockets library's tests under valgrind, which has to be installed
	$(CARGO) build --package anabranch-capi
	scripts/check-sockets-memory valgrind

.PHONY: asan-sockets
asan-sockets: setup ## run them under AddressSanitizer, library included (needs: rustup toolchain install nightly)
	RUSTFLAGS=-Zsanitizer=address $(CARGO) +nightly build --package anabranch-capi --target $(HOST) --target-dir target/asan
	scripts/check-sockets-memory asan target/asan/$(HOST)/debug/libanabranch_sctp.so

.PHONY: wheel-test
wheel-test: setup ## test the Python package, installed into a fresh environment
	@scripts/wheel test

.PHONY: wheel-versions
wheel-versions: setup ## the same with each interpreter from 3.10 on that is installed, with the newest packages for it
	@scripts/wheel versions

.PHONY: package-test
package-test: ## install the packages into an empty Debian and run them, as root (installs mmdebstrap)
	@scripts/package-test

.PHONY: randomized
randomized: ## run randomized simulations of two hosts (N=20000)
	ANABRANCH_SEEDS=$(N) $(CARGO) test --package anabranch-tests randomized

.PHONY: soak
soak: ## run 1,000 associations for 30 simulated minutes of path failures: no leak, stall or loss
	ANABRANCH_SOAK_ASSOCIATIONS=1000 ANABRANCH_SOAK_ROUNDS=6 ANABRANCH_SOAK_SECONDS=300 \
	  $(CARGO) test --release --package anabranch-tests --test soak -- --nocapture

.PHONY: soak-tunnel
soak-tunnel: ## run a tunnel server with clients that come and go: no leak, no other bytes (CLIENTS=200 S=1800 seconds)
	ANABRANCH_SOAK_CLIENTS=$(or $(CLIENTS),200) ANABRANCH_SOAK_SECONDS=$(if $(filter file,$(origin S)),1800,$(S)) \
	  $(CARGO) test --package anabranch-cli --test program -- --exact --nocapture \
	  tunnel_soak::server_keeps_nothing_of_clients_that_come_and_go

.PHONY: kills
kills: ## kill either side of a transfer with SIGKILL again and again (N=50 FILES=1000 SEED=1)
	ANABRANCH_KILLS=$(if $(filter file,$(origin N)),50,$(N)) ANABRANCH_KILL_FILES=$(or $(FILES),1000) ANABRANCH_SEED=$(or $(SEED),1) \
	  $(CARGO) test --package anabranch-cli --test program -- --nocapture everything_arrives_once

.PHONY: field
field: setup ## send files through random network namespaces that change, as root (N=200 SEED=1 ANABRANCH_PARALLEL=8)
	@scripts/field scenarios $(if $(filter file,$(origin N)),200,$(N)) $(SEED)

.PHONY: field-figures
field-figures: setup ## measure how soon data flows after a path fails or recovers, as root on an idle machine
	@scripts/field figures

.PHONY: field-holes
field-holes: setup ## send files through 48 networks that drop large packets, as root
	@scripts/field holes

.PHONY: agreement
agreement: setup ## compare `anabranch test` with iperf3 over shaped links, as root on an idle machine (ARGS="--seconds 10 --rounds 3")
	$(CARGO) build --release --package anabranch-cli
	scripts/agreement target/release/anabranch $(ARGS)

.PHONY: fuzz
fuzz: ## run every fuzz target (S=60 seconds each)
	@scripts/fuzz $(S)

.PHONY: bench
bench: ## measure the core, the library beside other implementations, and the live view (ARGS="--json")
	$(CARGO) build --release --package anabranch-bench --features peers
	for program in core sack_cost set_ups init_flood inits idle_memory simulated_seconds threads loopback; do \
	  $(CARGO) run --release --quiet --package anabranch-bench --features peers --bin $$program -- $(ARGS); done
	$(MAKE) --no-print-directory bench-dashboard ARGS=

.PHONY: bench-sockets
bench-sockets: setup ## measure iperf3 over the sockets library on the loopback interface (S=10 seconds each)
	$(BUILD_SOCKETS)
	scripts/bench-sockets $(if $(filter file,$(origin S)),10,$(S))

.PHONY: validate
validate: ## compare the simulator with closed forms and published rules, write docs/validation.md; takes some minutes
	$(CARGO) run --release --quiet --package anabranch-lab --example validate > target/validation.md
	mv target/validation.md docs/validation.md

.PHONY: bench-ns3
bench-ns3: ## compare simulated packets per second with ns-3 (needs libns3-dev)
	@scripts/bench-ns3

.PHONY: bench-sweep
bench-sweep: ## time a sweep of 55 simulated runs of 300 s on all cores, without stored results
	$(CARGO) build --release --package anabranch-cli
	cache=$$(mktemp -d); trap 'rm -rf "$$cache"' EXIT; \
	time $(CARGO) run --release --quiet --package anabranch-cli --bin anabranch -- \
	  lab run bench/sweep.toml --cache "$$cache" $(ARGS)

.PHONY: bench-python
bench-python: setup ## compare a sweep on a Dask cluster with threads, and read ten million rows of results into polars
	@scripts/wheel bench $(ARGS)

.PHONY: bench-tunnel
bench-tunnel: setup ## compare the tunnel with wireguard-go between two network namespaces, as root on an idle machine (ARGS="--seconds 8 --rounds 3")
	$(CARGO) build --release --package anabranch-cli
	scripts/bench-tunnel target/release/anabranch $(ARGS)

.PHONY: bench-tunnel-paths
bench-tunnel-paths: setup ## measure the tunnel over emulated paths and over each alone, as root on an idle machine (ARGS="300Mbit,10ms 80Mbit,30ms")
	$(CARGO) build --release --package anabranch-cli
	scripts/bench-tunnel-paths target/release/anabranch $(or $(ARGS),300Mbit,10ms 80Mbit,30ms)

.PHONY: bench-tunnel-profiles
bench-tunnel-profiles: setup ## measure downloads by TCP and HTTP/3 through the tunnel over sixteen pairs of paths, as root on an idle machine (ARGS="--seconds 15 --only lte_geo")
	$(CARGO) build --release --package anabranch-cli
	$(CARGO) build --release --package anabranch-bench --features peers --bin http3
	scripts/bench-tunnel-profiles target/release/anabranch target/release/http3 $(ARGS)

.PHONY: bench-dashboard
bench-dashboard: ## measure how soon the live view shows a cut path, and what it costs a transfer (ARGS="--cuts 5 --rounds 9")
	$(CARGO) build --release --package anabranch-cli
	scripts/bench-dashboard target/release/anabranch $(ARGS)

.PHONY: bench-tunnel-traffic
bench-tunnel-traffic: setup ## measure calls, shares and failing links under load through the tunnel, as root on an idle machine (ARGS="100Mbit,10ms 40Mbit,30ms")
	$(CARGO) build --release --package anabranch-cli
	scripts/bench-tunnel-traffic target/release/anabranch $(or $(ARGS),100Mbit,10ms 40Mbit,30ms)

.PHONY: bench-testbed
bench-testbed: ## measure how late packets are on a test bed of more than 200 Mbit/s (as root)
	$(CARGO) run --release --package anabranch-bench --bin testbed -- $(ARGS)

##@ Check

.PHONY: check
check: fmt clippy arch lines words conformance no-std doc ## run the checks that every commit must pass

.PHONY: fmt
fmt: ## check formatting
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check

.PHONY: clippy
clippy: ## run lints on all targets; warnings are errors
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(CARGO) clippy --manifest-path fuzz/Cargo.toml --target-dir $(or $(CARGO_TARGET_DIR),target) --all-targets --quiet -- -D warnings

.PHONY: msrv
msrv: ## check that what is published compiles with the oldest version of Rust that Cargo.toml names (installs it by rustup)
	rust=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); \
	rustup toolchain install --profile minimal --no-self-update "$$rust" && \
	rustup run "$$rust" cargo check --workspace --locked --quiet --target-dir $(or $(CARGO_TARGET_DIR),target)/msrv \
	  --exclude anabranch-bench --exclude anabranch-interop --exclude anabranch-py --exclude anabranch-tests --exclude xtask

.PHONY: arch
arch: ## check crate dependencies, the owner of per-path state, no_std, documents
	$(CARGO) xtask arch

.PHONY: lines
lines: ## check the length of files and their first lines
	$(CARGO) xtask lines

.PHONY: conformance
conformance: ## check that each rule of the standards has its code and test, or a reason why not; check quotations
	$(CARGO) xtask conformance

.PHONY: words
words: ## check that no retired word is used (xtask/retired-words.toml)
	$(CARGO) xtask words

.PHONY: no-std
no-std: ## check that the core crates and their dependencies do not link std
	$(CARGO) xtask no-std

.PHONY: doc
doc: ## build the API documentation; warnings are errors
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --lib --no-deps --quiet

.PHONY: docs
docs: ## generate docs/policies.md, docs/claims.md with its counts in README.md, docs/plan.schema.json and docs/conformance.md
	$(CARGO) run --quiet $(PROFILE) --package anabranch-cli --bin anabranch -- policies --markdown > docs/policies.md.new
	mv docs/policies.md.new docs/policies.md
	$(CARGO) run --quiet $(PROFILE) --package anabranch-cli --bin anabranch -- lab claims > docs/claims.md.new
	mv docs/claims.md.new docs/claims.md
	sed -n '/^<!-- counts -->$$/,/^<!-- .counts -->$$/{//!p}' docs/claims.md > README.md.counts
	sed -i -e '/^<!-- counts -->$$/,/^<!-- .counts -->$$/{//!d}' -e '/^<!-- counts -->$$/r README.md.counts' README.md
	rm README.md.counts
	$(CARGO) run --quiet $(PROFILE) --package anabranch-cli --bin anabranch -- lab schema > docs/plan.schema.json.new
	mv docs/plan.schema.json.new docs/plan.schema.json
	$(CARGO) xtask conformance --markdown

.PHONY: picture
picture: setup ## take the picture of the live view, docs/dashboard.png
	ANABRANCH_PICTURE=$(CURDIR)/docs/dashboard.png $(CARGO) test --package anabranch-cli --test program browser_shows_a_cut

.PHONY: site
site: setup ## build the documentation site in target/site/html and check its links
	@scripts/site

.PHONY: deny
deny: ## check licences, sources and banned crates (needs: cargo install --locked cargo-deny)
	$(CARGO) deny --log-level error check bans licenses sources

.PHONY: typos
typos: ## check spelling (needs: cargo install --locked typos-cli)
	typos

.PHONY: ci
ci: ## run what CI runs
	@.ci/run
