# The front door: `make demo` shows the program at work, `make test` checks it, `make help` lists
# the rest. The build itself is meson's; this file installs missing packages and calls it.

BUILD = build
# Debian's own Python: the test tools are installed for it.
PYTHON = /usr/bin/python3
prefix = /usr/local
DESTDIR =

# The prefix must reach a build directory that is already there, with another one.
SET_PREFIX = test "$$(cat $(BUILD)/prefix 2>/dev/null)" = '$(prefix)' || \
	{ meson configure $(BUILD) --prefix='$(prefix)' && echo '$(prefix)' >$(BUILD)/prefix; }

.NOTPARALLEL: # ninja and the test runner use the processors

.PHONY: all
all: build

.PHONY: build
build: packages-build $(BUILD)/build.ninja
	@$(SET_PREFIX)
	@ninja -C $(BUILD) programs

# ninja notices changed meson.build files by itself; the directory is only made here.
$(BUILD)/build.ninja: | packages-build
	@meson setup $(BUILD) --prefix='$(prefix)'

# On a host that refuses sandboxes it says why, and whether WEAKER=P, C or L allows weaker ones.
WEAKER =
.PHONY: demo
demo: packages-demo build
	@SANDBOX_WEAKER='$(WEAKER)' $(PYTHON) tests/demo/demo.py $(BUILD)/cli/code-sandbox-mcp agent

# The inner loop, under a minute: unit tests, corpora and the quick part of lint. In build-test, with
# nothing but cmocka and clang-format.
.PHONY: check
check: packages-check
	@test -f build-test/build.ninja || meson setup build-test -Dwerror=true
	@ninja -C build-test
	@meson test -C build-test --no-rebuild --print-errorlogs
	@$(PYTHON) tests/lint.py --quick build-test

# The gate: every feature and every wall once, in minutes. STAGES picks stages, ONLY=TEST one test.
STAGES =
FROM =
.PHONY: test test-all lint
test: packages-build
	@$(PYTHON) -B tests/run.py $(STAGES)
# Everything in full: hours. FROM=STAGE goes on after an interruption; WITHOUT_VM=1 leaves out the emulated machines.
test-all: packages-build
	@$(PYTHON) -B tests/run.py --whole $(if $(FROM),--from $(FROM)) $(STAGES)
test-%: packages-build
	@$(PYTHON) -B tests/run.py --stage $*
lint: test-lint

# Each harness of tests/fuzz for FUZZ_SECONDS, or FUZZ_RUNS calls, FUZZ_CHUNK at a time, which go on after
# an interruption; FUZZ=NAME picks one; FUZZ_FAST=1.
FUZZ =
FUZZ_SECONDS = 60
FUZZ_RUNS =
FUZZ_CHUNK =
FUZZ_FAST =
.PHONY: fuzz
fuzz: packages-fuzz
	@FUZZ='$(FUZZ)' FUZZ_SECONDS='$(FUZZ_SECONDS)' FUZZ_RUNS='$(FUZZ_RUNS)' FUZZ_CHUNK='$(FUZZ_CHUNK)' \
		FUZZ_FAST='$(FUZZ_FAST)' $(PYTHON) -B tests/run.py --stage fuzz

.PHONY: benchmarks
benchmarks: build
	@ninja -C $(BUILD) benchmarks

.PHONY: bench
bench: benchmarks
	@$(BUILD)/tests/bench/bench-runs --json $(BUILD)/bench.json
	@echo
	@$(BUILD)/tests/bench/bench-steps $(BUILD)/tests/bench/nothing $(BUILD)/bench-steps.json
	@echo
	@$(PYTHON) tests/bench/bench_start.py --static build-dist/work/$(shell uname -m)/build/cli/code-sandbox-mcp \
		$(BUILD)/cli/code-sandbox-mcp $(BUILD)/bench-start.json
	@echo
	@$(PYTHON) tests/bench/bench_calls.py $(BUILD) $(BUILD)/bench-calls.json \
		tests/bench/calls.svg
	@echo
	@$(PYTHON) tests/bench/bench_network.py $(BUILD)/cli/code-sandbox-mcp $(BUILD)/bench-network.json
	@echo
	@$(PYTHON) tests/bench/bench_policy.py $(BUILD)/cli/code-sandbox-mcp $(BUILD)/bench-policy.json
	@echo
	@$(PYTHON) tests/bench/bench_methods.py $(BUILD)/cli/code-sandbox-mcp $(BUILD)/bench-methods.json
	@echo
	@$(PYTHON) tests/bench/bench_tiers.py $(BUILD)/cli/code-sandbox-mcp $(BUILD)/bench-tiers.json
	@echo
	@$(PYTHON) -B tests/bench/bench_template.py $(BUILD) $(BUILD)/bench-template.json \
		tests/bench/forks.svg

# Many snippets: batch beside bare interpreters, and workers. Not by root.
.PHONY: bench-fleet
bench-fleet: build
	@.ci/install-packages fleet
	@$(PYTHON) -B tests/bench/bench_fleet.py $(BUILD) $(BUILD)/bench-fleet.json

# Images from a registry, beside skopeo and umoci. Not by root.
.PHONY: bench-pull
bench-pull: benchmarks
	@.ci/install-packages images
	@$(PYTHON) tests/bench/bench_pull.py $(BUILD)

# In an emulated machine that has cgroups, whose clock counts instructions. Not by root.
.PHONY: bench-guest
bench-guest: benchmarks
	@.ci/install-packages pytest vm
	@$(PYTHON) -B tests/bench/bench_guest.py $(BUILD)

.PHONY: install uninstall
install: build
	@meson install -C $(BUILD) --no-rebuild $(if $(DESTDIR),--destdir '$(abspath $(DESTDIR))')
# What the last installation from this directory has put there.
uninstall:
	@ninja -C $(BUILD) uninstall
	@echo 'Images, settings and data stay: docs/install.md says where they are.'

# The packages of this machine's Debian release; in build-deb.
.PHONY: deb
deb:
	@.ci/install-packages build deb
	@rm -rf build-deb
	@packaging/make-deb.sh build-deb
	@ls build-deb/*.deb

# Static programs as tar.gz, npm package, wheel and MCP bundle; in build-dist. ARCH: x86_64, aarch64, or both.
ARCH = $(shell uname -m)
.PHONY: dist release-check
dist:
	@.ci/install-packages build dist
	@$(PYTHON) -B packaging/dist.py $(patsubst %,--arch %,$(ARCH))
	@cat build-dist/SHA256SUMS
release-check:
	@$(PYTHON) -B packaging/release_check.py

.PHONY: clean
clean:
	rm -rf $(BUILD) build-test build-without build-asan build-fuzz build-fuzz-fast build-deb build-dist

# Each target installs only its own needs; tests/run.py those of its stages.
.PHONY: packages-build packages-check packages-demo packages-fuzz
packages-build:
	@.ci/install-packages build
packages-check:
	@.ci/install-packages build check
packages-demo:
	@.ci/install-packages build demo
packages-fuzz:
	@.ci/install-packages build fuzz

.PHONY: help
help:
	@echo 'make demo      install missing packages, build, fetch an image, run some snippets'
	@echo '               WEAKER=P, C or L allows weaker sandboxes, on a host that refuses others'
	@echo 'make check     unit tests, corpora and quick lint: under a minute after a build'
	@echo 'make test      install missing packages, check every feature and every wall once: minutes'
	@echo 'make test-all  check everything in full: hours; FROM=STAGE goes on after an interruption'
	@echo 'make test-S    one stage, heavy tests as samples; tests/run.py --list names the stages'
	@echo '               WITHOUT_VM=1 leaves out the emulated machines'
	@echo 'make lint      formatting, static analysis, house rules'
	@echo 'make fuzz      libFuzzer on every reader of outside bytes, a minute each; FUZZ=NAME,'
	@echo '               FUZZ_SECONDS=N, or FUZZ_RUNS=N for a number of calls'
	@echo 'make deb       packages of this Debian release, in build-deb'
	@echo 'make dist      static programs for ARCH=$(ARCH) as tar.gz, npm package, wheel and MCP'
	@echo '               bundle, in build-dist; make release-check compares what they say'
	@echo 'make bench     the cost of a jail, a server start and a call; writes $(BUILD)/bench*.json'
	@echo 'make bench-fleet  batch, beside bare interpreters, and workers; not as root'
	@echo 'make bench-guest  the cost of a cgroup, in an emulated machine; not as root'
	@echo 'make bench-pull   pulling an image, beside skopeo and umoci; not as root'
	@echo 'make build     compile into $(BUILD)/ (also: plain make)'
	@echo 'make install   install below $(prefix); prefix=DIR and DESTDIR=DIR override it'
	@echo 'make uninstall removes what the last `make install` has put there'
	@echo 'make clean     remove everything built; fetched images stay'
	@echo
	@echo 'As root, the tests run as the user code-sandbox-test, created for them, in a copy of this'
	@echo 'directory; only the tests of a server of root run as root.'
