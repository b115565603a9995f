# The tasks of this repository. `make help` lists the targets.

GOLANGCI_LINT_VERSION := v2.15.0
GOVULNCHECK_VERSION   := v1.8.0
COSIGN_VERSION        := v2.6.0

# The installed tool chain decides, not the network.
export GOTOOLCHAIN := local
# All that is compiled in a run is compiled in the same way, so that packages in common are compiled once: the programs, the
# tests, and what these build themselves. Without debugging information, and with compilers that collect no garbage below
# a gigabyte and use one processor each, that takes almost half less computing. Releases have flags of their own.
# Compilers run at the lowest priority, so that they do not delay tests that watch a clock.
GOFLAGS := -buildvcs=false -trimpath -gcflags=all=-dwarf=false '-toolexec=env GOGC=off GOMEMLIMIT=1GiB GOMAXPROCS=1 nice -n 19'
# Packages that hardly any program but the control plane uses, and not for each request, are compiled without inlining.
GOFLAGS += $(foreach packages,kubernetes client-go/applyconfigurations client-go/informers client-go/kubernetes client-go/listers,'-gcflags=k8s.io/$(packages)/...=-dwarf=false -l')
export GOFLAGS
export CARGO_PROFILE_DEV_DEBUG := 0

CACHE      := .cache
DEVCLUSTER := $(CACHE)/bin/devcluster
REGISTRY   := $(CACHE)/bin/registry
GUESTS     := $(CACHE)/guests
ENGINES    := bin/engines

# Modules of this repository: the root, and the nested ones.
MODULES := . abi guest-sdks/go examples examples/12-embedded/application docs/snippets artifacts/signatures/sigstore cmd/kopf test/conformance/guests/go test/guests/go test/cluster test/extism test/registry test/chart scripts/release test/bench/peers/controller-runtime

# The control plane is compiled with copies of some modules, and its own module is looked at with them, too: without, most of what
# it imports would be compiled once more.
CLUSTER_MODULES := $(DEVCLUSTER).modules
IN_MODULE = cd $$m && export GOWORK=off && { [ $$m != test/cluster ] || export GOWORK=$(CURDIR)/$(CLUSTER_MODULES)/go.work; }

# Those whose programs and tests compile for macOS and Windows. The others start clusters, or need root file systems.
PORTABLE := . abi guest-sdks/go examples docs/snippets artifacts/signatures/sigstore cmd/kopf test/conformance/guests/go test/guests/go test/extism test/registry scripts/release

# The guest of the conformance cases, by its language.
GUEST ?= go
JOBS  ?= 16

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## List these targets
	@awk -F ':.*## ' '/^##@ / { print substr($$0, 5) } /^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

##@ Building

.PHONY: kopf
kopf: # without C, so that the process that compiles modules is confined: see docs/sandbox.md
	@mkdir -p bin
	@[ -x bin/kopf ] || echo "building bin/kopf (first time: one or two minutes)..." >&2
	cd cmd/kopf && GOWORK=off CGO_ENABLED=0 go build -o $(CURDIR)/bin/kopf .

.PHONY: build
build: kopf ## Build the host: bin/kopf

.PHONY: engines
engines: engine-javascript engine-python ## Build the engines that run scripts: bin/engines (some minutes at the first time)

.PHONY: engine-javascript
engine-javascript:
	@scripts/engine.sh $(ENGINES)/javascript.wasm engines/javascript
	@mkdir -p $(ENGINES) && cp guest-sdks/javascript/kopf.d.ts $(ENGINES)/kopf.d.ts

.PHONY: engine-python
engine-python:
	@scripts/python-engine.sh $(ENGINES)/python.wasm
	@mkdir -p $(ENGINES)/stubs/kopf && cp engines/python/lib/kopf/*.pyi engines/python/lib/kopf/py.typed $(ENGINES)/stubs/kopf/

.PHONY: typescript
typescript: # The compiler that checks the types of scripts
	@scripts/npm.sh test/javascript "the check of the types of scripts" || [ $$? = 3 ]

.PHONY: devcluster
devcluster: ## Build the embedded control plane (3-5 minutes at the first time)
	@test/cluster/build.sh $(DEVCLUSTER)

.PHONY: registry
registry: ## Build the registry of the tests (about a minute at the first time)
	@test/registry/build.sh $(REGISTRY)

# What is built in Rust takes longest, one crate after the other, so it comes first.
.PHONY: guests
guests: guest-rust guest-go guest-tinygo guest-python guest-extism guest-minimal guest-sdk guest-bench guest-examples guest-plugins guest-memory ## Build all guest modules of tests and examples

.PHONY: guest-go
guest-go:
	@scripts/go-guest.sh $(GUESTS)/conformance-go.wasm test/conformance/guests/go

.PHONY: guest-tinygo
guest-tinygo:
	@scripts/tinygo-wasm.sh $(GUESTS)/conformance-tinygo.wasm test/conformance/guests/go

.PHONY: guest-rust
guest-rust:
	@scripts/rust-wasm.sh $(GUESTS)/conformance-rust.wasm test/conformance/guests/rust

.PHONY: guest-extism
guest-extism:
	@scripts/rust-wasm.sh $(GUESTS)/conformance-extism.wasm test/conformance/guests/extism

.PHONY: guest-javascript
guest-javascript: engines

.PHONY: guest-python
guest-python: engines # the interpreter that recorded the cases, behind its loader
	@mkdir -p $(GUESTS) && cat test/conformance/guests/python/loader.py test/conformance/recorder/interp.py >$(GUESTS)/conformance-python.py

.PHONY: guest-minimal
guest-minimal:
	@scripts/rust-wasm.sh $(GUESTS)/rust-minimal.wasm test/guests/rust/minimal

.PHONY: guest-sdk
guest-sdk:
	@scripts/rust-wasm.sh $(GUESTS)/rust-sdk.wasm test/guests/rust/sdk
	@scripts/rust-wasm.sh $(GUESTS)/rust-sdk-wasip1.wasm test/guests/rust/sdk wasm32-wasip1
	@scripts/rust-wasm.sh $(GUESTS)/rust-caller.wasm test/guests/rust/caller

.PHONY: guest-bench
guest-bench:
	@scripts/go-guest.sh $(GUESTS)/bench-go.wasm test/bench/guest
	@scripts/go-guest.sh $(GUESTS)/bench-lookups-go.wasm test/bench/lookups
	@scripts/go-guest.sh $(GUESTS)/bench-filtered-go.wasm test/bench/filtered
	@scripts/go-guest.sh $(GUESTS)/bench-validating.wasm test/bench/validating
	@scripts/rust-wasm.sh $(GUESTS)/bench-rust.wasm test/guests/rust/bench
	@scripts/rust-wasm.sh $(GUESTS)/bench-validating-rust.wasm test/guests/rust/validating

EXAMPLES := $(patsubst examples/%/main.go,%,$(wildcard examples/*/main.go))
RUST_EXAMPLES := $(patsubst examples/%/lib.rs,%,$(wildcard examples/*/lib.rs))

.PHONY: guest-examples
guest-examples: $(EXAMPLES:%=guest-example-%) $(RUST_EXAMPLES:%=guest-rust-example-%)

guest-example-%:
	@scripts/go-guest.sh $(GUESTS)/$*.wasm examples/$*

guest-rust-example-%:
	@scripts/rust-wasm.sh $(GUESTS)/rust-$*.wasm examples/$*

.PHONY: guest-plugins
guest-plugins:
	@scripts/rust-wasm.sh $(GUESTS)/extism-rust.wasm examples/extism/rust
	@scripts/as-wasm.sh $(GUESTS)/extism-assemblyscript.wasm examples/extism/assemblyscript
	@scripts/c-wasm.sh $(GUESTS)/extism-c.wasm examples/extism/c

.PHONY: guest-memory
guest-memory: guest-plugins # which builds in the same folder of packages
	@scripts/c-wasm.sh $(GUESTS)/memory-c.wasm test/guests/memory/c c
	@scripts/c-wasm.sh $(GUESTS)/memory-cpp.wasm test/guests/memory/cpp c++
	@scripts/as-wasm.sh $(GUESTS)/memory-assemblyscript.wasm examples/extism/assemblyscript test/guests/memory/assemblyscript/main.ts

##@ Using

.PHONY: demo
demo: kopf guest-example-01-minimal devcluster ## Run an example operator on a throw-away cluster
	@scripts/demo.sh

.PHONY: cluster
cluster: devcluster ## Keep a cluster up until Ctrl-C, and tell how to reach it
	@scripts/cluster.sh

##@ Testing

.PHONY: test
test: ## Run all tests, and set up what they need; ONLY="reactor test/e2e conformance/timers": some of them
	@$(MAKE) --no-print-directory -j 6 programs guests engines typescript
	@ONLY='$(ONLY)' scripts/test.sh

.PHONY: programs
programs: # one after the other, since builds at the same time would compile what they have in common twice
	@$(MAKE) --no-print-directory build
	@$(MAKE) --no-print-directory devcluster
	@$(MAKE) --no-print-directory registry

.PHONY: clean-room
clean-room: ## Run `make test` where only Go, git and make are installed: the last commit, in a root file system of its own (as root on Debian)
	@CI=true scripts/clean-room.sh make test

.PHONY: interop
interop: registry $(CACHE)/bin/cosign-$(COSIGN_VERSION) $(CACHE)/debian-registry ## Artifacts and signatures with the real cosign (built from source: minutes), skopeo, and the registry of Debian
	@command -v skopeo >/dev/null || scripts/apt.sh skopeo
	COSIGN_VERSION=$(COSIGN_VERSION) go test -count=1 -tags interop -run TestInterop ./test/oci

.PHONY: vectors
vectors: ## Check the recorded pure functions; VECTORS=dir: those of another folder
	@scripts/vectors.sh $(if $(VECTORS),'$(abspath $(VECTORS))')

# CASES=dir: the cases of another folder. ONLY="prefix...", AREA="area...": some of them.
# ALL=1: also those of this folder that finished.txt does not list. JOBS=n: so many at once.
# OPERATOR_CMD='PROGRAM {args}': another operator, such as the reference.
# Guests that cannot do everything declare what they can in cases.txt next to their source.
guest_module = $(or $(wildcard test/conformance/guests/$(GUEST)/main.js),$(GUESTS)/conformance-$(GUEST).$(if $(filter python,$(GUEST)),py,wasm))
guest_subset = $(wildcard test/conformance/guests/$(GUEST)/cases.txt)
guest_differences = test/conformance/differences.yaml $(wildcard test/conformance/guests/$(GUEST)/differences.yaml)
conformance_flags = --jobs $(JOBS) $(ONLY) $(AREA:%=--area %) \
	$(if $(CASES),--cases '$(abspath $(CASES))') \
	$(if $(or $(CASES),$(ONLY),$(AREA),$(ALL)),,--finished) \
	$(if $(OPERATOR_CMD),--operator-cmd '$(OPERATOR_CMD)',--guest $(guest_module) $(guest_subset:%=--subset %) $(guest_differences:%=--differences %)) \
	$(if $(CLI_CMD),--cli-cmd '$(CLI_CMD)') $(if $(DUMP),--dump '$(DUMP)') $(if $(KEEP),--keep) $(if $(VERBOSE),-v)

.PHONY: conformance
conformance: devcluster $(if $(OPERATOR_CMD),,build guest-$(GUEST)) ## Check the recorded cases; CASES=dir, ONLY="prefix...", AREA=, ALL=1, GUEST=go|tinygo|rust|javascript|python|extism
	@python=$$(scripts/python.sh) && "$$python" test/conformance/run.py check $(conformance_flags)

# Versions of the API server: that of test/cluster, and others, which are built in the same way.
KUBERNETES_VERSIONS ?= v1.37.2 v1.36.3 v1.35.4

.PHONY: matrix
matrix: ## Run the tests of what depends on the API server on several versions of Kubernetes (minutes for each at the first time)
	@scripts/matrix.sh $(KUBERNETES_VERSIONS)

.PHONY: faults
faults: build devcluster ## Break connections, servers and operators, at length; the tests have a short form of it
	KOPF_FAULTS=full KOPF_DEVCLUSTER=$(CURDIR)/$(DEVCLUSTER) go test -count=1 -timeout 60m -v -run '^TestFaults' ./test/e2e

.PHONY: simulate
simulate: ## Look for two replicas that handle one object, in 10,000 simulated worlds: 10 minutes of one core; SEEDS=10000, or SEEDS=7345-7346 for one world
	SEEDS=$(or $(SEEDS),10000) go test -count=1 -cpu 1 -timeout 60m -v -run '^(TestNoObjectIsHandledByTwo|TestEachObjectIsHandledByOneMember)$$' ./reactor/leadership ./reactor/membership

.PHONY: hostile
hostile: engines devcluster ## Let operators of strangers attack a host, all of them; the tests have a short form of it
	KOPF_HOSTILE=full CI=true KOPF_DEVCLUSTER=$(CURDIR)/$(DEVCLUSTER) go test -count=1 -timeout 30m -v -run '^TestHostile$$' ./test/hostile

.PHONY: fuzz
fuzz: ## Run each fuzz target for a while; FUZZTIME=30s
	@scripts/fuzz.sh

.PHONY: golden
golden: ## Rewrite the golden files from what the code does now
	@scripts/golden.sh

.PHONY: bench
bench: kopf devcluster ## Compare with other operators; ROUNDS=5, OBJECTS=1000, ONLY=names, PUBLISH=1: see test/bench
	@scripts/bench.sh

.PHONY: pgo
pgo: devcluster ## Make a profile that later builds of the host are optimised with: cmd/kopf/default.pgo
	@scripts/pgo.sh

.PHONY: bench-engine
bench-engine: guest-bench engines ## Measure the engine without Kubernetes, with its goals; ROUNDS=5
	@go test ./host -tags figures -run '^TestFigures$$' -v -count 1 -timeout 30m -args -rounds $(or $(ROUNDS),5)

.PHONY: browser
browser: ## Test the status page in a headless Chromium, which it installs; PICTURES=... takes the pictures of the manual
	@command -v chromium >/dev/null || scripts/apt.sh chromium
	@go test ./hosting/endpoints -tags browser -run '^TestPageInBrowser$$' -v -count 1 -pictures "$(PICTURES)"

.PHONY: bench-oci
bench-oci: devcluster registry guest-bench ## Measure starts from a file and from a registry, cold and warm; ROUNDS=5
	@CI=true KOPF_DEVCLUSTER=$(abspath $(DEVCLUSTER)) go test ./test/oci -tags bench -run '^TestStart$$' -v -count 1 -timeout 30m -args -rounds $(or $(ROUNDS),5)

.PHONY: recording
recording: kopf guest-example-01-minimal devcluster ## Record a run of the demo as the animated picture of the README and the manual: docs/images/recording.svg
	@scripts/recording.sh

.PHONY: docs
docs: ## Build the manual as a site that needs no network: .cache/site
	@scripts/docs.sh

.PHONY: docs-check
docs-check: docs ## Check the site in a headless Chromium, which it installs: phones, contrast, links, search; PAGES=daemons PICTURES=dir
	@command -v chromium >/dev/null || scripts/apt.sh chromium
	@go test ./test/site -tags browser -count 1 -timeout 30m -args -pages "$(PAGES)" -pictures "$(PICTURES)"

##@ Releasing

# VERSION=0.1.0. KEY=FILE signs the checksums. DIRTY=1 releases files that are not committed, to try something.
# PLATFORMS=linux/amd64,linux/arm64: some of them.
RELEASE = GOWORK=off go run -C scripts/release . $(1) -root $(CURDIR) -out $(CURDIR)/dist -work $(CURDIR)/$(CACHE)/release -version '$(VERSION)' $(if $(DIRTY),-dirty) $(if $(PLATFORMS),-platforms '$(PLATFORMS)')

.PHONY: image
image: ## Build the image of kopf without a container engine: dist/VERSION/image; VERSION=0.1.0
	@$(call RELEASE,check)
	@$(MAKE) --no-print-directory engines
	@$(call RELEASE,image) -engines $(CURDIR)/$(ENGINES)

.PHONY: release
release: ## Build all files of a release: dist/VERSION; VERSION=0.1.0, KEY=cosign.key
	@$(call RELEASE,check)
	@$(MAKE) --no-print-directory engines
	@$(call RELEASE,build) -engines $(CURDIR)/$(ENGINES) $(if $(KEY),-key '$(abspath $(KEY))')
	@scripts/crates.sh $(CACHE)/release/source dist/$(VERSION:v%=%)
	@$(call RELEASE,seal) $(if $(KEY),-key '$(abspath $(KEY))')

.PHONY: tags
tags: ## Make the commit and the tags of a release, and print how to push them; VERSION=0.1.0
	@$(call RELEASE,tags)

.PHONY: push
push: ## Push the image, the chart and the engines of `make release`; VERSION=0.1.0, REGISTRY=ghcr.io/me
	@$(call RELEASE,push) -to '$(REGISTRY)' >dist/$(VERSION:v%=%)/pushed.txt; code=$$?; cat dist/$(VERSION:v%=%)/pushed.txt; exit $$code

.PHONY: sign
sign: $(if $(KEY),kopf,$(CACHE)/bin/cosign-$(COSIGN_VERSION)) ## Sign what was pushed: with KEY=cosign.key, or, and the checksums, with the identity of a workflow; VERSION=0.1.0
	@scripts/sign-release.sh $(if $(KEY),bin/kopf,$<) dist/$(VERSION:v%=%) $(if $(KEY),'$(abspath $(KEY))')

.PHONY: publish
publish: ## Push the tags of `make tags`, and make a release on the forge with the files of dist; VERSION=0.1.0
	@scripts/publish.sh '$(VERSION:v%=%)'

##@ Before a pull request

.PHONY: check
check: format tidy cross vet lint rust race vulncheck ## All that is checked without a cluster

.PHONY: format
format: ## Check the format of all Go files
	@files=$$(git ls-files -co --exclude-standard -- '*.go' | xargs gofmt -l) && \
		if [ -n "$$files" ]; then echo "not formatted (gofmt -w):"; echo "$$files"; exit 1; fi

.PHONY: tidy
tidy: ## Check that go.mod and go.sum of all modules are complete
	@for m in $(MODULES); do echo "tidy $$m"; (cd $$m && GOWORK=off go mod tidy -diff) || exit 1; done

.PHONY: cross
cross: guests ## Build the host for all systems that it is released for, and check that tests compile for macOS and Windows
	@for at in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64; do \
		echo "building for $$at"; (cd cmd/kopf && CGO_ENABLED=0 GOOS=$${at%/*} GOARCH=$${at#*/} GOWORK=off go build -o /dev/null .) || exit 1; \
	done
	cd cmd/kopf && CGO_ENABLED=0 GOWORK=off go build -tags nosigstore -o /dev/null .
	@scripts/cross-vet.sh $(PORTABLE)

.PHONY: vet
vet: ## Run go vet in all modules
	@test/cluster/modules.sh $(CLUSTER_MODULES)
	@for m in $(MODULES); do echo "vet $$m"; ($(IN_MODULE) && go vet -tags figures,bench,interop,browser ./...) || exit 1; done

.PHONY: lint
lint: $(CACHE)/bin/golangci-lint-$(GOLANGCI_LINT_VERSION) ## Run golangci-lint in all modules
	@test/cluster/modules.sh $(CLUSTER_MODULES)
	@bad=; for m in $(MODULES); do echo "lint $$m"; ($(IN_MODULE) && $(CURDIR)/$< run --config $(CURDIR)/.golangci.yml ./...) || bad=1; done; [ -z "$$bad" ]

.PHONY: rust
rust: ## Check the format of all crates in Rust, and run clippy
	@scripts/rust-check.sh

.PHONY: race
race: ## Run the tests that need no cluster with the race detector
	@scripts/race.sh

.PHONY: vulncheck
vulncheck: $(CACHE)/bin/govulncheck-$(GOVULNCHECK_VERSION) ## Look for known vulnerabilities in what the host calls
	@scripts/vulncheck.sh $<

# The tools have their versions in their names, so that a new version is a new file.
$(CACHE)/bin/golangci-lint-$(GOLANGCI_LINT_VERSION):
	@scripts/go-tool.sh $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

$(CACHE)/bin/govulncheck-$(GOVULNCHECK_VERSION):
	@scripts/go-tool.sh $@ golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)

# Unpacked, not installed: its package would start a service.
$(CACHE)/debian-registry:
	@mkdir -p $@.new && cd $@.new && apt-get download docker-registry >/dev/null 2>&1 && dpkg-deb -x docker-registry_*.deb . && cd .. && mv debian-registry.new debian-registry

$(CACHE)/bin/cosign-$(COSIGN_VERSION):
	@scripts/go-tool.sh $@ github.com/sigstore/cosign/v2/cmd/cosign@$(COSIGN_VERSION)

.PHONY: clean
clean: ## Remove what was built, but for the control plane and the tools, which take minutes
	rm -rf bin $(GUESTS) $(CACHE)/test $(CACHE)/xdg $(CACHE)/rust $(CACHE)/cluster
