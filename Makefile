# The script book: what one types here. `make -n TARGET` prints the plain commands.

GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.1.4
# Runs go test, and a test that failed once more when all others have ended: these tests watch real processes on a
# machine that others use too. What passes then is told in the last lines, because it may be a fault all the same.
GOTESTSUM := gotest.tools/gotestsum@v1.13.0
GO_TEST   := go run $(GOTESTSUM) --format pkgname --format-hide-empty-pkg --rerun-fails=1 --rerun-fails-max-failures=5
GOLANGCI  := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# The version has one place. What is no release says behind a + of which commit it is.
NUMBER    := $(shell sed -n 's/^__version__ = "\(.*\)"$$/\1/p' python/stoker/__init__.py)
VERSION   ?= $(NUMBER)+g$(shell git describe --always --dirty=.dirty --exclude '*' 2>/dev/null || echo unknown)
# Where the binary begins (internal/launch), on the systems that it has an entry for.
ENTRY     = $(if $(filter linux/amd64 linux/arm64,$(shell go env GOOS)/$(shell go env GOARCH)),-E stoker_entry)
FUZZTIME  ?= 60s
FUZZ      ?= .
PYTHON    ?= python3
TORCH     := python/.venv/bin/python
NVML_C    := observe/gpu/emulated/nvml.c
GO_MOD    := $(shell sed -n 's/^go //p' go.mod)
# Where tools/install-tool puts a Go, if `make go` finds none that will do.
export PATH := $(CURDIR)/.tools/go-$(GO_MOD)/bin:$(PATH)
# No C but where a target asks for it: what build compiles, vet and test then find in Go's cache.
export CGO_ENABLED := 0

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# $(call need,COMMAND,DEBIAN PACKAGES) installs what is missing where we may
# (Debian, as root), and otherwise says how.
define need
command -v $(1) >/dev/null || { \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "make: $(1) is missing: apt-get install -y $(2)"; \
		apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(2) >/dev/null; \
	else \
		echo "make: error: $(1) is missing" >&2; \
		echo "make: hint: sudo apt-get install $(2)    (Debian, Ubuntu; elsewhere install it by its own name)" >&2; \
		exit 1; \
	fi; }
endef

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Asked here, a Go from 1.21 on fetches the one of go.mod and answers as that, unless GOTOOLCHAIN forbids it.
.PHONY: go
go: ## the Go of go.mod: one that is here, else in .tools (72 MB to download, once)
	@have="$$(go env GOVERSION 2> >(sed -n '/^go: downloading/p' >&2) || true)"; \
		printf '%s\n' go$(GO_MOD) "$${have#devel }" | sort -VC || \
		{ $(call need,$(PYTHON),python3); $(PYTHON) tools/install-tool go >/dev/null; }
	@$(if $(filter go,$(MAKECMDGOALS)),go version)

.PHONY: build
build: go ## bin/stoker: one file, no C compiler needed
	go build -buildvcs=false -ldflags '-s -w $(ENTRY) -X main.linked=$(VERSION)' -o bin/stoker ./cmd/stoker

.PHONY: emulate
emulate: bin/libnvidia-ml.so.1 ## bin/libnvidia-ml.so.1: the stand-in for a GPU (cc, else zig in .tools)

# The command stands in the C file, where the Go test finds it as well. A cc without libc's headers is none.
bin/libnvidia-ml.so.1: $(NVML_C)
	@mkdir -p bin
	@if ! echo '#include <stdio.h>' | cc -E - >/dev/null 2>&1 && zig="$$($(PYTHON) tools/install-tool zig)"; then \
			export ZIG_GLOBAL_CACHE_DIR=$(CURDIR)/.tools/zig-cache ZIG_LOCAL_CACHE_DIR=$(CURDIR)/.tools/zig-cache; \
			cc() { "$$zig" cc "$$@"; }; \
		else $(call need,cc,gcc libc6-dev); fi; \
		line="$$(sed -n 's/^ \*  *\(cc .*\)$$/\1/p' $<)"; [ -n "$$line" ] || { echo "make: error: $< has no line that begins with cc" >&2; exit 1; }; \
		echo "$$line"; $$line

.PHONY: test
test: build ## everything that needs neither PyTorch nor a GPU
	go vet ./...
	$(GO_TEST) --packages=./... -- -vet=off -timeout 20m
	@$(call need,$(PYTHON),python3)
	$(PYTHON) tools/run-unittests

# Packages that start goroutines, and web, whose handlers net/http starts; of recording only what rewrites a file while it grows.
# TestNoVerb... call every verb with every text, one after the other: they race with nothing. TestWatch... with a terminal look at a child, whose
# memory and whose library's reader (muesli/cancelreader closes its file while it waits for it) are not what they are without the detector.
# TestShown... judges all cases again and again in one goroutine. -short leaves out the largest traces.
.PHONY: race
race: go ## the Go tests of what has goroutines, under the race detector (needs cc)
	@$(call need,cc,gcc libc6-dev)
	@packages="$$(grep -rlE --exclude-dir='.?*' --include='*.go' --exclude='*_test.go' '^[[:space:]]*go (func|[a-zA-Z.]+)\(' . | xargs -n1 dirname | sort -u | grep -vx ./recording)"; \
		if [ -n "$(RACE_WITHOUT)" ]; then packages="$$(for p in $$packages; do go list -deps -test $$p | grep '$(RACE_WITHOUT)' >/dev/null || echo $$p; done)"; fi; \
		set -x; CGO_ENABLED=1 $(GO_TEST) --packages="./web $$(echo $$packages)" -- -vet=off -timeout 1h -race -short -skip '^(TestNoVerb|TestHostile(Recordings|Traces|FileNames|ProcessNames)|TestWatchRestoresTheTerminal|TestWatchOnAHugeTerminal|TestShownForLongEnough)'
	CGO_ENABLED=1 go test -vet=off -timeout 1h -race -run '^TestTrim(Meanwhile)?$$' ./recording

.PHONY: race-quick
race-quick: ## race without what links SQLite, which takes minutes to compile for it, as CI does
	$(MAKE) --no-print-directory race RACE_WITHOUT=^modernc.org/sqlite

.PHONY: lint
lint: go ## golangci-lint with .golangci.yml, built at its pinned version
	go run $(GOLANGCI) run --allow-serial-runners

# The list of rules is code: it is written first, or the others would be written without a new rule.
.PHONY: golden
golden: go ## rewrite the golden files; look at the difference before you commit it
	@packages="$$(grep -rl --exclude-dir='.?*' --include='*_test.go' '"github.com/stoker-dev/stoker/internal/golden"' . | xargs -r -n1 dirname | sort -u)"; \
		[ -n "$$packages" ] || { echo "make: error: no test uses internal/golden" >&2; exit 1; }; \
		set -x; go test -count=1 -run '^TestListHasEachRule$$' ./diagnose/rules -update; \
		go test -count=1 $$packages -update

.PHONY: cases
cases: go ## hold the recordings under testdata/cases against their expected verdicts
	go test -count=1 -v -run '^TestCases$$' ./diagnose

# Two at a time, with a core each: what one does alone on two cores is not twice as much.
# Until 1.27 Go may fail at the end of the time, without an input (golang/go#75804): such an end is run again.
.PHONY: fuzz
fuzz: go ## every Fuzz target (FUZZ=PATTERN: some) for FUZZTIME=60s; what a failure leaves in testdata/fuzz is kept
	@targets="$$(grep -rHo --exclude-dir='.?*' --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed 's/func //' | grep -E '$(FUZZ)' | sort || true)"; \
		[ -n "$$targets" ] || { echo "make: error: no Fuzz target was found" >&2; exit 1; }; \
		printf '%s\n' "$$targets" | xargs -P 2 -I FILE:NAME sh -c ' \
			for try in 1 2 3; do \
				said="$$(go test -run "^$$" -fuzz "^$${1##*:}\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x -parallel 1 "$$(dirname "$${1%:*}")" 2>&1)"; code=$$?; \
				case "$$said" in *"Failing input"*) break;; *"context deadline exceeded"*) ;; *) break;; esac; \
			done; \
			printf "== %s, $(FUZZTIME)\n%s\n" "$$1" "$$said"; exit $$code' sh FILE:NAME

# What a stranger may send: recordings, pictures, traces, datagrams, the packets of a client and of a profiler.
.PHONY: fuzz-quick
fuzz-quick: ## the Fuzz targets of what strangers send for 5 s each, as CI does
	$(MAKE) --no-print-directory fuzz FUZZTIME=5s FUZZ='recording/.*:FuzzRead$$$$|feed/decode/|feed/picture/|trace/kineto/|trace/xplane/|trace/nsight/|feed/serve/|observe/step/|predict/language/'

.PHONY: soak
soak: build torch ## memory of observing and feeding over 30 minutes, and a recording over 48 simulated hours (40 minutes)
	STOKER_SOAK=48 go test -count=1 -v -timeout 60m -run '^TestSoak$$' ./recording
	$(PYTHON) bench/soak.py

.PHONY: torch
torch: ## python/.venv with the pinned PyTorch and trainers (2 GB to download, once)
	python/install-torch

.PHONY: test-torch
test-torch: build emulate torch ## everything that needs a real PyTorch
	STOKER_BIN=$(CURDIR)/bin/stoker $(TORCH) tools/run-unittests --beside "$(TORCH) bench/labelled/labelled.py --quick"

.PHONY: oracle
oracle: go ## the JPEG decoder against libjpeg-turbo, bit for bit (needs cc and its headers)
	@$(call need,cc,gcc libc6-dev)
	@printf '#include <stdio.h>\n#include <jpeglib.h>\n' | cc -E - >/dev/null 2>&1 || $(call need,jpeglib.h,libjpeg62-turbo-dev)
	CGO_ENABLED=1 go test -tags turbo -run "^TestDifferential$$" ./feed/decode

# The emulated arm64 program is linked to a C library, as every one that looks for NVML.
.PHONY: cpus
cpus: build ## the feed's kernels on older, newer and emulated processors, and on arm64 (needs qemu)
	@$(call need,qemu-aarch64,qemu-user)
	@[ -e /usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1 ] || $(call need,ld-linux-aarch64.so.1,libc6-arm64-cross)
	@$(call need,aarch64-linux-gnu-gcc,gcc-aarch64-linux-gnu)
	go test -count=1 ./feed/kernels/neon
	$(PYTHON) bench/cpus/cpus.py

# What `make cpus` does of arm64 in CI, at length, and what CI has no time for.
.PHONY: arm64
arm64: build torch ## arm64 under qemu at length: tests, batches, stacks, operations, instructions, packages (half an hour)
	@$(call need,qemu-aarch64,qemu-user)
	@[ -e /usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1 ] || $(call need,ld-linux-aarch64.so.1,libc6-arm64-cross)
	@$(call need,qemu-system-aarch64,qemu-system-arm)
	@$(call need,aarch64-linux-gnu-gcc,gcc-aarch64-linux-gnu)
	@$(call need,cc,gcc libc6-dev)
	$(PYTHON) bench/cpus/arm64.py

.PHONY: wheel
wheel: build ## bin/wheels: the Python client with the binary in it
	STOKER_BIN=$(CURDIR)/bin/stoker $(PYTHON) -m pip wheel --quiet --no-deps -w bin/wheels ./python

.PHONY: man
man: go ## bin/man: a manual page per verb
	go test -count=1 ./cmd/stoker -run '^TestManualPages$$' -man $(CURDIR)/bin/man

.PHONY: pictures
pictures: build ## the pictures of the manual (needs chromium)
	docs/pictures/make

.PHONY: licenses
licenses: go ## rewrite the licences of the linked modules (cmd/stoker/licenses/licenses.txt)
	@mkdir -p bin
	$(PYTHON) release/licenses.py > bin/licenses.txt
	mv bin/licenses.txt cmd/stoker/licenses/licenses.txt

.PHONY: release
release: go ## dist/ of a clean checkout: binaries, wheels, packages, an image, sums (VERSION=0.1.0)
	$(PYTHON) release/release.py $(if $(filter command,$(firstword $(origin VERSION))),$(VERSION),$(NUMBER))

.PHONY: fresh
fresh: ## the README's two commands on empty Debian roots (root, 12 GB, an hour; CASES="bookworm:user trixie:root")
	@$(call need,mmdebstrap,mmdebstrap)
	release/fresh $(CASES)

.PHONY: audit
audit: go ## known faults of what we link (govulncheck), its licences, modules that nothing needs
	$(PYTHON) release/licenses.py | diff - cmd/stoker/licenses/licenses.txt || { echo "make: hint: make licenses" >&2; exit 1; }
	@unused="$$(sed -n '/indirect/!s/^\t\([^ ]*\) v.*/\1/p' go.mod | sort | comm -23 - <(go list -deps -test -f '{{with .Module}}{{.Path}}{{end}}' ./... | sort -u))"; \
		[ -z "$$unused" ] || { echo "make: error: nothing imports $$unused" >&2; echo "make: hint: go mod tidy" >&2; exit 1; }
	go mod verify
	go run $(GOVULNCHECK) $(if $(VULNDB),-db $(VULNDB)) ./... || { echo "make: hint: where vuln.go.dev cannot be reached: VULNDB=file:///path/to/a/copy make audit" >&2; exit 1; }

.PHONY: loaders
loaders: build torch ## loaders side by side on the same JPEGs (installs nine peers, 3 GB; 20 minutes)
	bench/loader/install-peers || true
	$(TORCH) bench/loader/make_reference.py
	$(PYTHON) bench/loader/loaders.py --rounds 3

# Whoever changes python/stoker runs the first; the second needs checkouts of the suites whose authors publish no sdist with tests.
.PHONY: exactness
exactness: build torch ## data sets with a state of their own, fed and alone: batches, errors, exit codes, calls (half an hour)
	$(TORCH) bench/loader/exactness.py

.PHONY: remote
remote: build torch ## workers in a Ray cluster of three nodes on this machine, beside the script alone: batches (WHAT=odd, cost, deaths; NETWORK=latency, head, cut: as root)
	$(TORCH) $(if $(NETWORK),bench/loader/remote_network.py $(NETWORK),$(if $(filter odd,$(WHAT)),bench/loader/remote_odd.py,bench/loader/remote.py $(or $(WHAT),equal)))

.PHONY: peer-suites
peer-suites: build torch ## tests of PyTorch, WebDataset, Accelerate, Pillow and others, plain, observed and fed (SOURCES=DIR; an hour)
	$(PYTHON) bench/loader/peers.py $(if $(SOURCES),--sources $(SOURCES))

.PHONY: demo
demo: build emulate torch ## observe, advise, change settings, verify, feed on an emulated GPU, in 4 minutes
	examples/imagefolder/demo.sh

.PHONY: labelled
labelled: build emulate torch ## all runs whose answer is known by construction, beside 0, 1 and 2 busy programs (REPEAT=3: three times each)
	$(TORCH) bench/labelled/labelled.py --neighbours 0,1,2 --repeat $(or $(REPEAT),1)

.PHONY: accuracy
accuracy: go ## how often a verdict is right, on 950 simulated jobs of 19 classes: bench/accuracy/RESULTS.md (4 minutes; goes on where it was ended)
	go build -o bin/accuracy ./bench/accuracy
	bin/accuracy

# Of the seeds that rules are mended on, so that nobody mends them on the exam's.
.PHONY: accuracy-quick
accuracy-quick: go ## 57 of these jobs, with bars, for CI (10 seconds)
	go run ./bench/accuracy -set tune -draws 3 -check

.PHONY: gains
gains: build emulate torch ## promised gains against achieved ones: pairs of runs (20 minutes, wants a quiet machine)
	$(PYTHON) bench/gains/gains.py

.PHONY: overhead
overhead: build emulate torch ## what observing costs the observed program
	$(TORCH) bench/overhead.py

.PHONY: peers
peers: build ## readers of traces side by side; TRACES=FILES, default those of testdata/cases
	bench/trace/install-peers
	$(PYTHON) bench/trace/peers.py $(or $(TRACES),$(wildcard testdata/cases/trace-*/trace.json.gz))

# What else the pages of evidence were measured with. Each writes beside its page or prints its table.

# Each is asked for what its head says: WHAT="handover png" make feeding.
.PHONY: feeding
feeding: build torch ## what feeding costs beside PyTorch alone: hand-over, tensors, recording, text, PNGs (WHAT=SCRIPTS of bench/loader)
	for script in $(or $(WHAT),handover tensors recording unfed text png); do $(TORCH) bench/loader/$$script.py; done

.PHONY: pipelines
pipelines: build torch ## published input pipelines, alone and fed (REPOSITORIES=DIR of checkouts; an hour)
	$(TORCH) bench/loader/make_reference.py
	$(TORCH) bench/loader/pipelines.py data/reference $(if $(REPOSITORIES),--repositories $(REPOSITORIES)) --rounds 3 --batch 32 >bin/pipelines.json
	$(TORCH) bench/loader/pipelines.py data/reference $(if $(REPOSITORIES),--repositories $(REPOSITORIES)) --table bin/pipelines.json

.PHONY: deaths
deaths: build emulate torch ## what becomes of a job as processes of ours die, stop or lack something (an hour)
	$(PYTHON) bench/deaths.py
	$(TORCH) bench/loader/deaths.py
	$(TORCH) bench/loader/kills.py --kills 60
	$(TORCH) bench/loader/failures.py

.PHONY: processes
processes: build emulate torch ## verdicts of real processes with a known answer: bench/accuracy/PROCESSES.md
	$(TORCH) bench/accuracy/processes.py
	$(TORCH) bench/accuracy/processes.py --table

.PHONY: replay
replay: build emulate torch ## gains that a trace promises, beside what came
	$(TORCH) bench/replay/pairs.py --stoker bin/stoker

.PHONY: tune-search
tune-search: build emulate torch ## what tune finds, beside an exhaustive search (an hour, on a quiet machine; goes on where it was ended)
	$(TORCH) bench/tune/tune.py --minutes 55

.PHONY: frameworks
frameworks: build torch ## scripts of Lightning, Hugging Face and others with and without observe: the same output
	bench/frameworks/observe

.PHONY: ledger
ledger: build emulate torch ## the rows of a run's time beside a clock in its script: 31 runs (15 minutes)
	$(TORCH) bench/ledger/ledger.py

.PHONY: claims
claims: build emulate torch ## what people say about starving GPUs, measured: docs/claims.md
	$(TORCH) bench/claims/claims.py

.PHONY: reports
reports: build emulate torch ## public reports of idle GPUs, made again as scripts, and healthy ones (20 minutes)
	$(PYTHON) bench/reports/reports.py

.PHONY: serving
serving: build emulate ## servers with built-in troubles: needs SERVERS=python with torch, fastapi, uvicorn, litserve and ray[serve]
	@[ -n "$(SERVERS)" ] || { echo "make: error: SERVERS=PYTHON is missing (bench/serving/RESULTS.md says what it needs)" >&2; exit 1; }
	bench/serving/situations.py --python $(SERVERS)
	bench/serving/latency.py --python $(SERVERS)

.PHONY: published
published: build ## step times that others published, beside predict's
	$(PYTHON) bench/published/fresh.py

.PHONY: questions
questions: build ## the same questions to mlsysim, Calculon, llm-analysis and predict (VENV=DIR CALCULON=DIR)
	$(VENV)/bin/python bench/questions/questions.py --calculon $(CALCULON) --stoker bin/stoker

.PHONY: truth
truth: build ## other people's traces with labels (SOURCES=DIR of bare clones; LABELS=later: another list)
	$(PYTHON) bench/truth/exam.py $(SOURCES) bench/truth/$(or $(LABELS),fresh).csv

.PHONY: gpu
gpu: build ## loops, gains and fed batches on a real GPU: bench/gpu/situations.sh (PyTorch with CUDA; 10 minutes)
	OUT=$(or $(OUT),bin/gpu) bench/gpu/situations.sh 540 0 truth verdicts gains unhooked fed

.PHONY: fleet
fleet: build emulate ## what an agent, a scrape and Prometheus take, 500 agents (prometheus, curl)
	bench/fleet/fleet.sh 500 240

.PHONY: page-exam
page-exam: build ## pages of 10^5 steps in a browser: time, widths, dark, print, keyboard, --serve (npm, chromium)
	npm install --prefix bin/page playwright-core axe-core
	node bench/page/page.cjs bin/page-out
	node bench/page/web.cjs

.PHONY: clean
clean: ## remove what make built; python/.venv, .tools, data/ and recordings stay
	rm -rf bin
