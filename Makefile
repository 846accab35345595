# `make demo` and `make test` need no other set-up. `make help` lists the other targets.

SWIFT ?= swift
# Further options for the builds of tests, such as those of `.ci/run`.
TEST_BUILD ?=
URLS ?=
OUT ?= out
PREFIX ?= /usr/local
EVENTS ?= 10000000
FUZZ_SECONDS ?= 60
# Of the random numbers; 0 for another one each time.
FUZZ_SEED ?= 0
FUZZ ?= $(notdir $(wildcard Tests/Fuzz/Corpus/*))
ONE_PROCESSOR := $(shell command -v taskset > /dev/null && echo taskset -c $$(taskset -cp $$$$ | sed 's/.*[ ,-]//'))

.PHONY: help demo test install dist try-dist build-explore explore explore-faults build-fuzz fuzz soak bench format lint docs examples clean packages test-packages

help:
	@echo "make install           build, and install the command under $(PREFIX) (PREFIX=…, DESTDIR=…)"
	@echo "make dist              build a tarball and a Debian package, with Swift's library linked in, and an SBOM: out/dist"
	@echo "make try-dist          the same, then try them in a bare Debian 12 and 13 (needs root and the network; minutes)"
	@echo "make demo              build, and show a limit at work (no network needed)"
	@echo "make demo URLS=my.txt  fetch your own list into $(OUT)/, with at most 4 requests at once to a host"
	@echo "make test              build and run all tests"
	@echo "make explore           run small scripts on queues, pools and requests in every interleaving (minutes)"
	@echo "HEADGATE_PREEMPTIONS=2 make explore   the same with two preemptions (takes longer)"
	@echo "make explore-faults    the same, then check that it finds each fault of Tests/Explorer/faults.txt"
	@echo "make fuzz              run the parsers of external data under libFuzzer, $(FUZZ_SECONDS) seconds each (Linux)"
	@echo "make soak              run the long tests: $(EVENTS) random scheduler events, fuzzing, chaos against the test server; then"
	@echo "                       demo and test in a bare Debian sid (needs root; hours)"
	@echo "make bench             compare with other libraries (installs Go, builds async-http-client; minutes)"
	@echo "Benchmarks/run --quick compare with curl, aria2c and wget2 (installs nothing; five minutes)"
	@echo "make examples          run the programs in Examples/, and the one with Hummingbird (builds NIO; minutes)"
	@echo "make format, make lint, make docs, make clean"

packages:
	@scripts/ensure-packages.sh build

test-packages:
	@scripts/ensure-packages.sh test

demo: packages
ifeq ($(URLS),)
	$(SWIFT) build -c release --product headgate-demo
	@"$$($(SWIFT) build -c release --show-bin-path)/headgate-demo" demo
else
	$(SWIFT) build -c release --product headgate
	@"$$($(SWIFT) build -c release --show-bin-path)/headgate" fetch -i "$(URLS)" --per-host 4 -P "$(OUT)"
endif

test: test-packages
	$(SWIFT) build --build-tests $(TEST_BUILD)
	# One at a time: on few processors, hundreds of concurrent tests delay each other by up to a minute.
	@SWIFT=$(SWIFT) scripts/run-tests.sh --skip-build --no-parallel

install:
	@scripts/ensure-packages.sh install
	$(SWIFT) build -c release --static-swift-stdlib --product headgate
	@SWIFT=$(SWIFT) DESTDIR="$(DESTDIR)" scripts/install.sh "$(PREFIX)"

dist:
	@scripts/ensure-packages.sh dist
	$(SWIFT) build -c release --static-swift-stdlib --product headgate
	@SWIFT=$(SWIFT) scripts/dist.sh "$$($(SWIFT) build -c release --static-swift-stdlib --show-bin-path)/headgate"

try-dist: dist
	@SWIFT=$(SWIFT) scripts/check-dist.sh --bare bookworm trixie

build-explore:
	Tests/Explorer/plant
	$(SWIFT) build --package-path Tests/Explorer --build-tests $(TEST_BUILD)

explore: build-explore
	# Only one thread runs at a time; on one processor, handing over from thread to thread is faster than on several.
	$(ONE_PROCESSOR) $(SWIFT) test --package-path Tests/Explorer --skip-build

explore-faults: explore
	$(ONE_PROCESSOR) Tests/Explorer/plant Tests/Explorer/.build/debug/explorerPackageTests.xctest

# HEADGATE_FUZZ makes the command's code a product (Package.swift). Swift's own handler of crashes is off, so that libFuzzer's
# writes the input that crashed.
build-fuzz: packages
	HEADGATE_FUZZ= $(SWIFT) build -c release --package-path Tests/Fuzz --product fuzz -Xswiftc -sanitize=fuzzer -Xswiftc -enable-testing

fuzz: build-fuzz
	@set -e; for input in $(FUZZ); do \
	  mkdir -p Tests/Fuzz/.build/found/$$input; \
	  echo "$$input: $(FUZZ_SECONDS) seconds"; \
	  SWIFT_BACKTRACE=enable=no HEADGATE_FUZZ=$$input Tests/Fuzz/.build/release/fuzz -verbosity=0 -seed=$(FUZZ_SEED) -max_total_time=$(FUZZ_SECONDS) -max_len=4096 \
	    -print_final_stats=1 -artifact_prefix=Tests/Fuzz/.build/$$input- \
	    Tests/Fuzz/.build/found/$$input Tests/Fuzz/Corpus/$$input; \
	done

soak: test-packages explore-faults fuzz
	$(SWIFT) build -c release --build-tests -Xswiftc -enable-testing
	HEADGATE_SOAK_EVENTS=$(EVENTS) HEADGATE_CHAOS_SECONDS=300 HEADGATE_MUTATIONS=50000 HEADGATE_PACE_SECONDS=300 HEADGATE_KILLS=50 \
	  HEADGATE_CALL_KILLS=10 HEADGATE_HOLD_KILLS=500 HEADGATE_LEARNING_SEEDS=50 $(SWIFT) test -c release -Xswiftc -enable-testing --skip-build \
	  --filter 'CorpusTests|SchedulerRandomTests|LimiterRandomTests|ChaosTests|MutatedResponseTests|JSONReaderTests|PaceTests|SessionTests|AcceptanceTests.*CallTests|HoldTests|LearningTests|LearningRandomTests|AdaptiveLimitTests'
	HEADGATE_REDIS_SECONDS=1800 HEADGATE_REDIS_PROCESSES=50 scripts/check-redis.sh --filter ProcessTests/storm
	# The next Debian, with the newest libcurl. Not in .ci/run: what a mirror offers must not decide what lands.
	scripts/try-debian.sh sid

bench: test-packages
	Benchmarks/run

format:
	$(SWIFT) format -i -r --configuration .swift-format Package.swift Sources Tests Examples Benchmarks

lint:
	$(SWIFT) format lint --strict -r --configuration .swift-format Package.swift Sources Tests Examples
	@scripts/check-cases.sh
	@scripts/check-libcurl-table.sh
	@scripts/check-snippets.py
	@scripts/check-links.py
	@Tests/Explorer/plant

docs:
	scripts/check-docs.sh

examples: packages
	scripts/check-examples.sh all

clean:
	rm -rf .build .build-* out
