# The script book: what one types here. docs/development.md has the plain
# command of every target, for those without make.

GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.1.4
GOLANGCI  := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# The version has one place. What is no release says behind a + of which commit it is.
NUMBER    := $(shell sed -n 's/^__version__ = "\(.*\)"$$/\1/p' python/stoker/__init__.py)
VERSION   ?= $(NUMBER)+g$(shell git describe --always --dirty=.dirty --exclude '*' 2>/dev/null || echo unknown)
FUZZTIME  ?= 60s
FUZZ      ?= .
PYTHON    ?= python3
TORCH     := python/.venv/bin/python
NVML_C    := observe/gpu/emulated/nvml.c

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
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## bin/stoker: one file, no C compiler needed
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -X main.linked=$(VERSION)' -o bin/stoker ./cmd/stoker

.PHONY: emulate
emulate: bin/libnvidia-ml.so.1 ## bin/libnvidia-ml.so.1: the stand-in for a GPU (needs cc)

# The command stands in the C file, where the Go test finds it as well.
bin/libnvidia-ml.so.1: $(NVML_C)
	@$(call need,cc,gcc libc6-dev)
	@mkdir -p bin
	@line="$$(sed -n 's/^ \*  *\(cc .*\)$$/\1/p' $<)"; [ -n "$$line" ] || { echo "make: error: $< has no line that begins with cc" >&2; exit 1; }; \
		echo "$$line"; $$line

.PHONY: test
test: build ## everything that needs neither PyTorch nor a GPU
	go vet ./...
	go test -timeout 1h ./...
	GOOS=darwin go vet ./...
	GOOS=windows go vet ./...
	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go build -o /dev/null ./cmd/stoker
	@$(call need,$(PYTHON),python3)
	PYTHONPATH=python $(PYTHON) -m unittest discover -s python/tests

# Packages that start goroutines, and web, whose handlers net/http starts; of recording only what rewrites a file.
# TestNoVerb... call every verb with every text, one after the other: they race with nothing.
.PHONY: race
race: ## the Go tests of what has goroutines, under the race detector (needs cc)
	@$(call need,cc,gcc libc6-dev)
	@packages="$$(grep -rlE --include='*.go' --exclude='*_test.go' '^[[:space:]]*go (func|[a-zA-Z.]+)\(' . | xargs -n1 dirname | sort -u | grep -vx ./recording)"; \
		set -x; CGO_ENABLED=1 go test -timeout 1h -race -skip '^TestNoVerb' ./web $$packages
	CGO_ENABLED=1 go test -timeout 1h -race -run Trim ./recording

.PHONY: lint
lint: ## golangci-lint with .golangci.yml, built at its pinned version
	go run $(GOLANGCI) run --allow-serial-runners

.PHONY: golden
golden: ## rewrite the golden files; look at the difference before you commit it
	@packages="$$(grep -rl --include='*_test.go' '"github.com/stoker-dev/stoker/internal/golden"' . | xargs -r -n1 dirname | sort -u)"; \
		[ -n "$$packages" ] || { echo "make: error: no test uses internal/golden" >&2; exit 1; }; \
		set -x; go test -count=1 $$packages -update

.PHONY: cases
cases: ## hold the recordings under testdata/cases against their expected verdicts
	go test -count=1 -v -run '^TestCases$$' ./diagnose

# Two at a time, with a core each: what one does alone on two cores is not twice as much.
.PHONY: fuzz
fuzz: ## every Fuzz target (FUZZ=PATTERN: some) for FUZZTIME=60s; what a failure leaves in testdata/fuzz is kept
	@targets="$$(grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed 's/func //' | grep -E '$(FUZZ)' | sort || true)"; \
		[ -n "$$targets" ] || { echo "make: error: no Fuzz target was found" >&2; exit 1; }; \
		printf '%s\n' "$$targets" | xargs -P 2 -I FILE:NAME sh -c ' \
			said="$$(go test -run "^$$" -fuzz "^$${1##*:}\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x -parallel 1 "$$(dirname "$${1%:*}")" 2>&1)"; code=$$?; \
			printf "== %s, $(FUZZTIME)\n%s\n" "$$1" "$$said"; exit $$code' sh FILE:NAME

# What a stranger may send: recordings, pictures, traces, datagrams, the packets of a client and of a profiler.
.PHONY: fuzz-quick
fuzz-quick: ## the Fuzz targets of what strangers send for 20 s each, as CI does
	$(MAKE) --no-print-directory fuzz FUZZTIME=20s FUZZ='recording/.*:FuzzRead$$$$|feed/decode/|feed/picture/|trace/kineto/|trace/xplane/|trace/nsight/|feed/serve/|observe/step/|observe/capture/'

.PHONY: soak
soak: build torch ## memory of observing and feeding over 30 minutes, and a recording over 48 simulated hours (40 minutes)
	STOKER_SOAK=48 go test -count=1 -v -timeout 60m -run '^TestSoak$$' ./recording
	$(PYTHON) bench/soak.py

.PHONY: torch
torch: ## python/.venv with the pinned PyTorch and trainers (2 GB to download, once)
	python/install-torch

# Three files of tests at a time: they sleep more than they compute.
.PHONY: test-torch
test-torch: build emulate torch ## everything that needs a real PyTorch
	ls -S python/tests/test_*.py | PYTHONPATH=python STOKER_BIN=$(CURDIR)/bin/stoker xargs -P 3 -I FILE sh -c ' \
		said="$$($(TORCH) -m unittest discover -s python/tests -p "$${1##*/}" 2>&1)"; code=$$?; \
		printf "== %s\n%s\n" "$$1" "$$said"; exit $$code' sh FILE
	$(TORCH) bench/labelled/labelled.py --quick

.PHONY: oracle
oracle: ## the JPEG decoder against libjpeg-turbo, bit for bit (needs cc and its headers)
	@$(call need,cc,gcc libc6-dev)
	@printf '#include <stdio.h>\n#include <jpeglib.h>\n' | cc -E - >/dev/null 2>&1 || $(call need,jpeglib.h,libjpeg62-turbo-dev)
	CGO_ENABLED=1 go test -tags turbo ./feed/decode

.PHONY: wheel
wheel: build ## bin/wheels: the Python client with the binary in it
	STOKER_BIN=$(CURDIR)/bin/stoker $(PYTHON) -m pip wheel --quiet --no-deps -w bin/wheels ./python

.PHONY: man
man: ## bin/man: a manual page per verb
	$(GO) test -count=1 ./cmd/stoker -run '^TestManualPages$$' -man $(CURDIR)/bin/man

.PHONY: pictures
pictures: build ## the pictures of README.md (needs chromium)
	docs/pictures/make

.PHONY: licenses
licenses: ## rewrite the licences of the linked modules (cmd/stoker/licenses.txt)
	@mkdir -p bin
	$(PYTHON) release/licenses.py > bin/licenses.txt
	mv bin/licenses.txt cmd/stoker/licenses.txt

.PHONY: release
release: ## dist/ of a clean checkout: binaries, wheels, packages, an image, sums (VERSION=0.1.0)
	$(PYTHON) release/release.py $(if $(filter command,$(firstword $(origin VERSION))),$(VERSION),$(NUMBER))

.PHONY: audit
audit: ## known faults of what we link (govulncheck), its licences, modules that nothing needs
	$(PYTHON) release/licenses.py | diff - cmd/stoker/licenses.txt || { echo "make: hint: make licenses" >&2; exit 1; }
	@unused="$$(sed -n '/indirect/!s/^\t\([^ ]*\) v.*/\1/p' go.mod | sort | comm -23 - <(go list -deps -test -f '{{with .Module}}{{.Path}}{{end}}' ./... | sort -u))"; \
		[ -z "$$unused" ] || { echo "make: error: nothing imports $$unused" >&2; echo "make: hint: go mod tidy" >&2; exit 1; }
	go mod verify
	go run $(GOVULNCHECK) $(if $(VULNDB),-db $(VULNDB)) ./... || { echo "make: hint: where vuln.go.dev cannot be reached: VULNDB=file:///path/to/a/copy make audit" >&2; exit 1; }

.PHONY: loaders
loaders: build torch ## loaders side by side on the same JPEGs (installs nine peers, 3 GB; 20 minutes)
	bench/loader/install-peers || true
	$(TORCH) bench/loader/make_reference.py
	$(PYTHON) bench/loader/loaders.py --rounds 3

.PHONY: demo
demo: build emulate torch ## observe, advise, apply, verify, feed on an emulated GPU, in 4 minutes
	examples/imagefolder/demo.sh

.PHONY: labelled
labelled: build emulate torch ## all runs whose answer is known by construction, beside 0, 1 and 2 busy programs (REPEAT=3: three times each)
	$(TORCH) bench/labelled/labelled.py --neighbours 0,1,2 --repeat $(or $(REPEAT),1)

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

.PHONY: clean
clean: ## remove what make built; python/.venv, data/ and recordings stay
	rm -rf bin
