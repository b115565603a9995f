# Everything that people do with this repository. `make help` lists the words.

GOLANGCI_LINT_VERSION := v2.15.0
GOVULNCHECK_VERSION   := v1.9.0

# The installed tool chain decides, not the network.
export GOTOOLCHAIN := local
export GOFLAGS     := -buildvcs=false

CACHE      := .cache
DEVCLUSTER := $(CACHE)/bin/devcluster
GUESTS     := $(CACHE)/guests

# Modules of this repository: the root, and the nested ones.
MODULES := . abi guest-sdks/go examples test/conformance/guests/go test/cluster

# The guest of the conformance cases, by its language.
GUEST ?= go
JOBS  ?= 6

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## List these words
	@awk -F ':.*## ' '/^##@ / { print substr($$0, 5) } /^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

##@ Building

.PHONY: build
build: ## Build the host: bin/kopf
	@mkdir -p bin
	go build -trimpath -o bin/kopf ./cmd/kopf

.PHONY: devcluster
devcluster: ## Build the embedded control plane (3-5 minutes at the first time)
	@test/cluster/build.sh $(DEVCLUSTER)

.PHONY: guests
guests: guest-go guest-rust guest-examples ## Build all guest modules of tests and examples

.PHONY: guest-go
guest-go:
	@scripts/go-guest.sh $(GUESTS)/conformance-go.wasm test/conformance/guests/go

.PHONY: guest-rust
guest-rust:
	@scripts/rust-wasm.sh $(GUESTS)/rust-minimal.wasm test/guests/rust/minimal

EXAMPLES := $(patsubst examples/%/main.go,%,$(wildcard examples/*/main.go))

.PHONY: guest-examples
guest-examples: $(EXAMPLES:%=guest-example-%)

guest-example-%:
	@scripts/go-guest.sh $(GUESTS)/$*.wasm examples/$*

##@ Using

.PHONY: demo
demo: build devcluster guest-examples ## Run an example operator on a throw-away cluster
	@scripts/demo.sh

.PHONY: cluster
cluster: devcluster ## Keep a cluster up until Ctrl-C, and tell how to reach it
	@scripts/cluster.sh

##@ Testing

.PHONY: test
test: build devcluster guests ## Run all tests; sets up whatever they need
	@scripts/test.sh

.PHONY: vectors
vectors: ## Check the recorded pure functions; VECTORS=dir: those of another folder
	@go test ./test/vectors -count=1 $(if $(VECTORS),-vectors '$(abspath $(VECTORS))')

# CASES=dir: the cases of another folder. ONLY="prefix...", AREA="area...": some of them.
# ALL=1: also those of this folder that finished.txt does not list. JOBS=n: so many at once.
# OPERATOR_CMD='PROGRAM {args}': another operator, such as the reference.
conformance_flags = --jobs $(JOBS) $(ONLY) $(AREA:%=--area %) \
	$(if $(CASES),--cases '$(abspath $(CASES))') \
	$(if $(or $(CASES),$(ONLY),$(AREA),$(ALL)),,--finished) \
	$(if $(OPERATOR_CMD),--operator-cmd '$(OPERATOR_CMD)',--guest $(GUESTS)/conformance-$(GUEST).wasm) \
	$(if $(CLI_CMD),--cli-cmd '$(CLI_CMD)') $(if $(DUMP),--dump '$(DUMP)') $(if $(KEEP),--keep) $(if $(VERBOSE),-v)

.PHONY: conformance
conformance: devcluster $(if $(OPERATOR_CMD),,build guest-$(GUEST)) ## Check the recorded cases; CASES=dir, ONLY="prefix...", AREA=, ALL=1, GUEST=go
	@python=$$(scripts/python.sh) && "$$python" test/conformance/run.py check $(conformance_flags)
