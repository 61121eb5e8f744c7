# The entry point for development. `make help` lists the targets.
SHELL := /bin/bash
BUILD := build/release
BINARY := $(BUILD)/holdfast
PREFIX ?= /usr
DURATION ?= 3600
OPERATIONS ?= 200000
JOBS ?= $(shell nproc)

.DEFAULT_GOAL := help
.PHONY: help deps build demo test test-crash test-power-cut soak simulate fuzz test-quick lint tidy format bench bench-snapshots bench-rbd asan \
  tsan image deb release manifests e2e e2e-rbd \
  e2e-upstream scale install clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | \
	  awk -F ':.*## ' '{ printf "  make %-14s %s\n", $$1, $$2 }'

deps: ## install the Debian packages for building and testing
	scripts/install-deps build test lint fuzz ceph

build: ## build the binary at build/release/holdfast
	@scripts/install-deps build
	cmake --preset release -DHOLDFAST_TESTS=OFF >/dev/null
	cmake --build --preset release

demo: build ## watch a volume's whole life on real loop devices and mounts
	$(BINARY) demo

test: ## run every suite that this machine can run, with a summary
	@scripts/install-deps build test lint fuzz ceph
	scripts/test all

test-crash: build ## every fault at every state-changing system call; docs/reliability.md gives the duration
	@scripts/install-deps build test
	tests/crash/run --all --binary $(BINARY)

soak: build ## random calls against the model for DURATION seconds and OPERATIONS (3600, 200000)
	@scripts/install-deps test
	tests/model/run --seconds $(DURATION) --operations $(OPERATIONS) --result $(BUILD)/soak.json

simulate: ## simulate the volume state machine, with kills and power cuts, for DURATION seconds (3600)
	@scripts/install-deps build test
	cmake --preset release -DHOLDFAST_TESTS=ON >/dev/null
	cmake --build --preset release --target simulator
	$(BUILD)/tests/simulator --seconds $(DURATION)

fuzz: ## fuzz every parser for DURATION seconds (3600), JOBS at a time
	@scripts/install-deps build fuzz
	cmake --preset fuzz >/dev/null
	cmake --build --preset fuzz --target fuzz_targets
	tests/fuzz/run --seconds $(DURATION) --jobs $(JOBS) --keep --write-docs

test-quick: ## unit and root tests only: seconds to minutes
	@scripts/install-deps build test
	scripts/test quick

test-power-cut: build ## cut the power of guests 216 times: an hour on two idle cores
	@scripts/install-deps test
	tests/vm/power-cuts --binary $(BINARY) --result $(BUILD)/power-cuts.json

lint: ## formatting, layers, headers, locks, cppcheck, shellcheck
	@scripts/install-deps build lint fuzz
	scripts/lint

tidy: ## clang-tidy over the sources: half an hour on two idle cores
	@scripts/install-deps build tidy
	scripts/tidy

format: ## format the C++ sources
	@scripts/install-deps lint
	scripts/lint --fix

bench: build ## measure against the raw system calls, write docs/benchmarks.md
	@scripts/install-deps bench
	cmake --preset release -DHOLDFAST_BENCH=ON >/dev/null
	cmake --build --preset release
	bench/run --binary $(BINARY) --write-docs
	bench/snapshots/run --binary $(BINARY) --write-docs

bench-snapshots: build ## measure snapshots, restores and copies, write docs/benchmarks.md
	@scripts/install-deps bench test
	cmake --preset release -DHOLDFAST_BENCH=ON >/dev/null
	cmake --build --preset release
	bench/snapshots/run --binary $(BINARY) --write-docs

bench-rbd: build ## measure pools in Ceph against librbd alone, write docs/benchmarks-rbd.md
	@scripts/install-deps bench ceph
	cmake --preset release -DHOLDFAST_BENCH=ON >/dev/null
	cmake --build --preset release
	bench/rbd/run --binary $(BINARY) --write-docs

asan: ## unit and root tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/install-deps build test fuzz
	scripts/test asan

tsan: ## concurrency tests under ThreadSanitizer
	@scripts/install-deps build test
	scripts/test tsan

image: build ## build the container image build/image/holdfast.tar, without Docker
	@scripts/install-deps image
	scripts/image --binary $(BINARY)

deb: build ## build the Debian package build/deb/holdfast_VERSION_ARCHITECTURE.deb
	@scripts/install-deps image
	scripts/deb --binary $(BINARY)

release: build ## build what a release page holds, in build/dist: image, .deb, chart, manifests, checksums
	@scripts/install-deps image
	scripts/release

manifests: ## generate deploy/kubernetes/ from the chart
	scripts/manifests

e2e: image ## a real Kubernetes cluster of two nodes: install the chart, test everything
	@scripts/install-deps e2e
	tests/e2e/run
	tests/e2e/upstream

e2e-upstream: image ## Kubernetes' own storage suite, all of it
	@scripts/install-deps e2e
	tests/e2e/upstream --all

e2e-rbd: image ## pools in Ceph in a real Kubernetes cluster with a virtual machine as a node
	@scripts/install-deps test e2e ceph
	tests/e2e-rbd/run

scale: build ## measure the controller with thousands of simulated nodes, write docs/benchmarks.md
	@scripts/install-deps bench e2e
	cmake --preset release -DHOLDFAST_BENCH=ON >/dev/null
	cmake --build --preset release
	tests/e2e/build-tools
	bench/scale/cluster
	bench/scale/run --write-docs

install: build ## install the binary, a systemd unit and an example configuration
	install -D -m 0755 $(BINARY) $(DESTDIR)$(PREFIX)/sbin/holdfast
	install -D -m 0644 deploy/systemd/holdfast.service $(DESTDIR)/lib/systemd/system/holdfast.service
	test -e $(DESTDIR)/etc/holdfast/config.yaml || \
	  install -D -m 0600 deploy/systemd/config.yaml $(DESTDIR)/etc/holdfast/config.yaml

clean: ## remove the build directory
	rm -rf build
