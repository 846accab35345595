# `make demo` and `make test` are all the set-up there is. `make help` names the rest.

SWIFT ?= swift
URLS ?=
OUT ?= out
EVENTS ?= 10000000
ONE_PROCESSOR := $(shell command -v taskset > /dev/null && echo taskset -c $$(taskset -cp $$$$ | sed 's/.*[ ,-]//'))

.PHONY: help demo test explore soak bench format lint docs clean packages test-packages

help:
	@echo "make demo              build, and see the limit hold (no network needed)"
	@echo "make demo URLS=my.txt  fetch your own list into $(OUT)/, at most 4 requests at once for a host"
	@echo "make test              build and run all tests"
	@echo "make explore           small scripts on queues and pools in every interleaving: seconds"
	@echo "HEADGATE_PREEMPTIONS=2 make explore   the same with two preemptions: some minutes"
	@echo "make soak              what takes long: $(EVENTS) random scheduler events, chaos against the origin"
	@echo "make bench             measure against the peers (installs Go; builds async-http-client: minutes)"
	@echo "make format, make lint, make docs, make clean"

packages:
	@scripts/ensure-packages.sh build

test-packages:
	@scripts/ensure-packages.sh test

demo: packages
	$(SWIFT) build -c release --product headgate
ifeq ($(URLS),)
	@"$$($(SWIFT) build -c release --show-bin-path)/headgate" demo
else
	@"$$($(SWIFT) build -c release --show-bin-path)/headgate" fetch -i "$(URLS)" --per-host 4 -P "$(OUT)"
endif

test: test-packages
	$(SWIFT) build --build-tests
	# One at a time: on few processors hundreds of tests at once keep each other waiting for a minute.
	@SWIFT=$(SWIFT) scripts/run-tests.sh --skip-build --no-parallel

explore:
	$(SWIFT) build --package-path Tests/Explorer --build-tests
	# One thread runs at a time, so that on one processor it goes on sooner than on several.
	$(ONE_PROCESSOR) $(SWIFT) test --package-path Tests/Explorer --skip-build

soak: test-packages
	$(SWIFT) build -c release --build-tests -Xswiftc -enable-testing
	HEADGATE_SOAK_EVENTS=$(EVENTS) HEADGATE_CHAOS_SECONDS=300 HEADGATE_MUTATIONS=50000 \
	  $(SWIFT) test -c release -Xswiftc -enable-testing --skip-build \
	  --filter 'SchedulerRandomTests|ChaosTests|MutatedResponseTests'

bench: test-packages
	Benchmarks/run

format:
	$(SWIFT) format -i -r --configuration .swift-format Package.swift Sources Tests Examples Benchmarks

lint:
	$(SWIFT) format lint --strict -r --configuration .swift-format Package.swift Sources Tests Examples

docs:
	scripts/check-docs.sh

clean:
	rm -rf .build .build-* out
