# Bedplate: `make help` lists the commands. Everything that is built goes into bin/.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
BIN := $(CURDIR)/bin
export BEDPLATE_TOOLS := $(BIN)
export CGO_ENABLED := 0
# What is built doesn't depend on the folder: all clones and module caches share what is in Go's build cache. Debuggers' information is
# left out, which takes a fifth of the time to compile and half of the time to link. For `dlv`: make build GOFLAGS=-trimpath
export GOFLAGS := $(shell go env GOFLAGS) -trimpath -gcflags=all=-dwarf=false '-ldflags=-s -w'
.DEFAULT_GOAL := help

# The programs Bedplate is built, tested and demonstrated with. Their versions are pinned in tools/go.mod.
PACKAGE_etcd                       := go.etcd.io/etcd/server/v3
PACKAGE_kube-apiserver             := k8s.io/kubernetes/cmd/kube-apiserver
PACKAGE_kube-controller-manager    := k8s.io/kubernetes/cmd/kube-controller-manager
PACKAGE_kube-scheduler             := k8s.io/kubernetes/cmd/kube-scheduler
PACKAGE_kubectl                    := k8s.io/kubernetes/cmd/kubectl
PACKAGE_capi-core                  := sigs.k8s.io/cluster-api/core
PACKAGE_capi-kubeadm-bootstrap     := sigs.k8s.io/cluster-api/bootstrap/kubeadm
PACKAGE_capi-kubeadm-control-plane := sigs.k8s.io/cluster-api/controlplane/kubeadm
PACKAGE_clusterctl                 := sigs.k8s.io/cluster-api/cmd/clusterctl
PACKAGE_kwok                       := sigs.k8s.io/kwok/cmd/kwok
PACKAGE_controller-gen             := sigs.k8s.io/controller-tools/cmd/controller-gen
PACKAGE_oapi-codegen               := github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen
PACKAGE_buf                        := github.com/bufbuild/buf/cmd/buf
PACKAGE_protoc-gen-go              := google.golang.org/protobuf/cmd/protoc-gen-go
PACKAGE_protoc-gen-go-grpc         := google.golang.org/grpc/cmd/protoc-gen-go-grpc
PACKAGE_gotestsum                  := gotest.tools/gotestsum
PACKAGE_golangci-lint              := github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# Argo CD has replacements of modules, so that it and Helm are pinned in a module of their own: tools/argocd/go.mod.
PACKAGE_argocd := .
PACKAGE_helm   := helm.sh/helm/v3/cmd/helm

LAB_TOOLS := etcd kube-apiserver kube-controller-manager kube-scheduler kubectl capi-core capi-kubeadm-bootstrap capi-kubeadm-control-plane kwok
DEV_TOOLS := clusterctl controller-gen oapi-codegen buf protoc-gen-go protoc-gen-go-grpc gotestsum golangci-lint
MANIFESTS := core bootstrap-kubeadm control-plane-kubeadm
OPENSHIFT := machine-api cluster-version
DEMO      := bedplate bmm-manager bmm-cloud-controller-manager
COMMANDS  := $(notdir $(wildcard cmd/*))

KUBERNETES_VERSION := $(shell awk '$$1 == "k8s.io/kubernetes" {print $$2}' tools/go.mod)
TOOL_LDFLAGS := -s -w -X k8s.io/component-base/version.gitVersion=$(KUBERNETES_VERSION) \
	-X k8s.io/component-base/version.gitMajor=$(word 1,$(subst ., ,$(KUBERNETES_VERSION:v%=%))) \
	-X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(KUBERNETES_VERSION)))

##@ Use

.PHONY: demo
demo: announce $(LAB_TOOLS:%=$(BIN)/%) $(MANIFESTS:%=$(BIN)/manifests/%.yaml) ## Bring up a bare-metal cluster from YAML to Ready nodes, show it, take it away again (ARGS for `lab up`).
	@hack/build.sh bedplate -o $(BIN)/ $(DEMO:%=./cmd/%)
	@hack/demo.sh $(ARGS)

##@ Develop

.PHONY: build
build: ## Build Bedplate's own programs. The Go tool knows best what is out of date.
	@hack/build.sh bedplate -o $(BIN)/ $(COMMANDS:%=./cmd/%)

# The labs of these take minutes each: `make test-lab` runs them.
LAB_TESTS := ^(TestLab_bringsUpAPowerVSClusterWithIgnition|TestLab_showsADPFNodeThatFails|TestDPFManager_killedAtAnyMomentComesToTheSameEnd|TestControlPlane_aMachineThatDiesIsReplaced|TestNodes_areInitialisedAndGoWithTheirInstances|TestManager_killedAtAnyMomentLeaksAndDoublesNothing|TestKrakeManager_killedAtAnyMomentLeaksAndDoublesNothing|TestMachineController_killedAtAnyMomentLeaksAndDoublesNothing|TestNewSystem_asTheGuideSays)$$

# Packages wait about half of their time, so two run at a time for each processor.
AT_A_TIME := $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))

.PHONY: test
test: lab-tools $(BIN)/gotestsum $(BIN)/clusterctl $(BIN)/helm build ## Run the tests, with real etcd, kube-apiservers, Cluster API and OVN; all but the longest labs.
	-@hack/lab-deps.sh
	@mkdir -p out && rm -f out/tests.json
	$(BIN)/gotestsum --format pkgname-and-test-fails --jsonfile out/tests.json -- -p $(AT_A_TIME) -vet=off -timeout 30m -skip '$(LAB_TESTS)' $(TESTARGS) ./test/... ./...; \
		status=$$?; hack/slowest.sh out/tests.json; exit $$status

.PHONY: test-lab
test-lab: lab-tools $(BIN)/controller-gen build ## Run the longest labs: control planes, nodes, managers that are killed at any moment, a new system.
	@go test -p 2 -count=1 -vet=off -timeout 30m -run '$(LAB_TESTS)' ./test/lab ./test/newsystem

.PHONY: test-e2e
test-e2e: lab-tools $(BIN)/clusterctl build ## Run Cluster API's own quick-start spec against Bedplate.
	cd test/e2e && $(BIN)/gotestsum --format standard-quiet -- -timeout 20m . -ginkgo.label-filter=quick-start

.PHONY: test-all
test-all: test test-lab test-e2e test-olm ## Run all tests, and vet the user's command for Windows, which has the least in common with Linux.
	GOOS=windows go vet ./cmd/bedplate

# What a run leaves is in out/e2e: the logs of the managers, the consoles of the machines, the objects of each spec.
.PHONY: e2e
e2e: lab-tools build ## Run Cluster API's own end-to-end specs against Bedplate, and moves (ARGS='-ginkgo.focus=powervs.*move').
	@rm -rf out/e2e && mkdir -p out/e2e
	@go test -C test/e2e -count=1 -v -timeout 90m -artifacts -outputdir $(CURDIR)/out/e2e . $(ARGS)

.PHONY: e2e-argocd
e2e-argocd: lab-tools $(BIN)/argocd $(BIN)/helm build ## Have the real Argo CD deploy DPF's charts (building it takes minutes).
	@go test -C test/argocd -count=1 -v -timeout 20m . $(ARGS)

# Where systems have their crash suites and their operations suites.
SUITES := $(patsubst %,./%/,$(wildcard internal/*/provider) internal/bmm/actuator)

.PHONY: crash
crash: lab-tools ## Kill the engine and every system at every point of their way, explore its decision, and print how many points and states those were.
	@BEDPLATE_EXPLORE=1500000 go test -v -count=1 -timeout 30m -run TestExplore ./internal/graph/decide/ 2>&1 | grep -E '^(--- |ok|FAIL|panic)|states to depth'
	@BEDPLATE_CRASH_EVERY=true go test -v -count=1 -timeout 60m -run Crash ./internal/graph/ $(SUITES) 2>&1 | grep -E '^(--- |ok|FAIL|panic)|crash points|stale caches|left behind|outside there is'

.PHONY: operations
operations: lab-tools ## For an hour: do with the objects of every system what users may do with them, by a seed (DURATION=5m, BEDPLATE_SEED=7).
	@BEDPLATE_OPERATIONS=$(or $(DURATION),1h) go test -v -count=1 -timeout 0 -run TestOperations ./internal/optest/ $(SUITES) 2>&1 | \
		grep -vE '^[IEW][0-9]{4} |^=== |sequence.go:'

.PHONY: bench
bench: bench-machines bench-powervs bench-krake bench-dpf bench-networks ## Measure all that docs/performance.md says: the next five.

.PHONY: bench-machines
bench-machines: lab-tools build ## Measure what bmm's manager costs with thousands of machines, and a reconcile of one at rest (ARGS='--machines 10000').
	@go run ./test/scale bench $(ARGS)
	@go test -run '^$$' -bench Reconcile -benchtime 50000x ./internal/graph

.PHONY: bench-powervs
bench-powervs: lab-tools build ## Measure what powervs' manager costs: one cluster at the speed of life, then 200 with 5 machines each (ARGS='--clusters 50').
	@go run ./test/scale powervs $(ARGS)

.PHONY: bench-krake
bench-krake: lab-tools build ## Measure what Krake's manager costs with 500 clusters, also while its infrastructure manager is down (ARGS='--clusters 50').
	@go run ./test/scale krake $(ARGS)

.PHONY: bench-dpf
bench-dpf: lab-tools build ## Measure what DPF's operator costs with 200 nodes and 3 DPU clusters of 200, and with 2,000 hosts (ARGS='--nodes 50 --hosts 0').
	@go run ./test/scale dpf $(ARGS)

.PHONY: bench-networks
bench-networks: lab-tools build ## Measure Hydrazine, as root: a host that joins, a group of 100 hosts, OVN's part in it, DHCP, BGP, the proxy, 100 groups.
	-@hack/lab-deps.sh
	@go test -run '^$$' -bench . -skip 'Site|ControlPlane' -benchtime 10x -timeout 30m ./test/lab/overlay ./internal/hydrazine/ovn
	@go test -run '^$$' -bench 'Lease|Speaker' -benchtime 10x -timeout 30m ./cmd/hydrazine-agent ./cmd/hydrazine-speaker
	@go test -run '^$$' -bench Create -benchtime 3000x -timeout 30m ./cmd/hydrazine-proxy
	@go test -run '^$$' -bench 'Site|ControlPlane' -benchtime 3x -timeout 30m ./test/lab/overlay

.PHONY: soak
soak: lab-tools build ## Wear the manager out for half an hour, with faults, kills and outages (ARGS='--duration 5m --seed 7').
	@go run ./test/scale soak $(ARGS)

.PHONY: soak-conntrack
soak-conntrack: lab-tools build ## As root, for an hour: flows at the timeout of connection tracking abort no ovs-vswitchd (DURATION=5m).
	-@hack/lab-deps.sh
	@BEDPLATE_SOAK=$(or $(DURATION),1h) go test -count=1 -v -timeout 0 -run TestSoak_flowsAtTheTimeoutOfConnectionTracking ./test/lab/overlay

.PHONY: soak-hostile
soak-hostile: lab-tools build ## As root, for an hour and quiet phases on top: hostile clients, hosts and DPUs beside another tenant (DURATION=5m).
	-@hack/lab-deps.sh
	@BEDPLATE_HOSTILE=$(or $(DURATION),1h) go test -count=1 -v -timeout 0 -run TestSoak_hostileClients ./test/lab/overlay

.PHONY: lint
lint: $(BIN)/golangci-lint $(BIN)/buf ## Run the linters, the import rules of the house among them.
	$(BIN)/buf lint
	$(BIN)/golangci-lint run
	cd test/e2e && $(BIN)/golangci-lint run
	cd test/olm && $(BIN)/golangci-lint run
	cd test/argocd && $(BIN)/golangci-lint run

.PHONY: new-system
new-system: $(BIN)/controller-gen ## Make the scaffold of another system, as docs/new-system.md says (NAME=powervs KIND=PowerVS).
	@go run ./hack/new-system $(NAME) $(KIND)
	@$(MAKE) --no-print-directory generate-$(NAME)

# Its only field is what a cluster gets of config/bmm-cloud-controller-manager.
CCM_EXAMPLE := examples/bmm/cloud-controller-manager.yaml

# The tables of OVN and Open vSwitch that there are models of.
NB_TABLES  := NB_Global,Logical_Switch,Logical_Switch_Port,Logical_Router,Logical_Router_Port,Logical_Router_Static_Route,NAT,ACL,Port_Group,Address_Set,Copp,Meter,Meter_Band
SB_TABLES  := SB_Global,Chassis,Chassis_Private,Port_Binding,Connection
OVS_TABLES := Open_vSwitch,Datapath,Bridge,Port,Interface

.PHONY: generate
generate: $(BIN)/controller-gen $(BIN)/oapi-codegen $(BIN)/kubectl $(BIN)/buf $(BIN)/protoc-gen-go $(BIN)/protoc-gen-go-grpc ## Regenerate the generated files.
	$(BIN)/controller-gen object paths=./api/bmm/... paths=./api/hydrazine/... paths=./api/ledger/...
	$(BIN)/controller-gen crd:generateEmbeddedObjectMeta=true paths=./api/bmm/v1beta1 output:crd:dir=config/bmm/crd/bases
	$(BIN)/controller-gen crd paths=./api/ledger/v1alpha1 output:crd:stdout | sed 's/ledgers\.bedplate\.dev/bmm.bedplate.dev/' | \
		tee config/bmm/crd/bases/bmm.bedplate.dev_ledgers.yaml > config/bmm-machine-controller/crd/bmm.bedplate.dev_ledgers.yaml
	$(BIN)/controller-gen crd paths=./api/bmm/machine/v1beta1 output:crd:dir=api/bmm/machine/v1beta1/zz_generated.crd-manifests
	$(BIN)/controller-gen rbac:roleName=bedplate-bmm-manager paths=./internal/bmm/cluster paths=./internal/bmm/machine \
		paths=./internal/bmm/machinetemplate output:rbac:dir=config/bmm/rbac
	$(BIN)/controller-gen rbac:roleName=bedplate-bmm-machine-controller paths=./internal/machineapi paths=./internal/bmm/actuator \
		output:rbac:dir=config/bmm-machine-controller/rbac
	$(BIN)/controller-gen webhook paths=./internal/bmm/webhook output:webhook:dir=config/bmm/webhook
	$(BIN)/controller-gen crd paths=./api/hydrazine/resource/v1alpha1 paths=./api/hydrazine/networkfabric/v1alpha1 \
		output:crd:dir=config/hydrazine/crd/bases
	$(BIN)/controller-gen rbac:roleName=bedplate-hydrazine-manager paths=./internal/hydrazine/controller \
		paths=./internal/hydrazine/central/pods output:rbac:dir=config/hydrazine/rbac
	$(BIN)/controller-gen rbac:roleName=bedplate-hydrazine-proxy paths=./internal/hydrazine/proxy output:rbac:dir=config/hydrazine-proxy/rbac
	$(BIN)/controller-gen rbac:roleName=bedplate-hydrazine-speaker paths=./internal/hydrazine/speaker output:rbac:dir=config/hydrazine-speaker/rbac
	$(BIN)/controller-gen webhook paths=./internal/hydrazine/webhook output:webhook:dir=config/hydrazine/webhook
	$(BIN)/oapi-codegen -config internal/bmm/client/gen/config.yaml internal/bmm/client/openapi.yaml
	$(BIN)/oapi-codegen -config internal/bmm/sim/gen/config.yaml internal/bmm/client/openapi.yaml
	$(BIN)/buf generate
	BEDPLATE_WRITE=true go test -count=1 -run TestDecide_isInTheDocs ./internal/graph/decide
	go run ./internal/hydrazine/ovn/gen -tables $(NB_TABLES) internal/hydrazine/ovn/nbdb/ovn-nb.ovsschema
	go run ./internal/hydrazine/ovn/gen -tables $(SB_TABLES) internal/hydrazine/ovn/sbdb/ovn-sb.ovsschema
	go run ./internal/hydrazine/ovn/gen -tables $(OVS_TABLES) internal/openvswitch/vswitchd/vswitch.ovsschema
	@sed -i '/^  cloud-controller-manager.yaml: |$$/q' $(CCM_EXAMPLE)
	$(BIN)/kubectl kustomize config/bmm-cloud-controller-manager/default | sed 's/^/    /' >> $(CCM_EXAMPLE)

# The systems that `make new-system` has made say themselves what is generated of them.
include $(wildcard config/*/system.mk)

.PHONY: verify-generate
verify-generate: generate ## Fail where a generated file isn't current.
	@changed=$$(git status --porcelain -- '*_gen.go' '*.pb.go' '*zz_generated*' config docs/engine.md $(CCM_EXAMPLE)); \
	if [ -n "$$changed" ]; then echo "not current, run make generate and commit:"; echo "$$changed"; exit 1; fi

.PHONY: clean
clean: ## Remove everything that was built.
	rm -rf $(BIN) out

##@ Release

VERSION ?= $(shell git describe --tags --match 'v[0-9]*' 2>/dev/null || echo v0.1.0-dev.g$$(git rev-parse --short HEAD))
# IMG is the manager's image with its tag. Without it it is the one of config/bmm, tagged with the version.
IMG ?=

.PHONY: release-manifests
release-manifests: $(BIN)/kubectl ## Write what clusterctl needs into out/release, as a repository (VERSION, IMG).
	@rm -rf out/release && hack/release-manifests.sh '$(VERSION)' out/release '$(IMG)'

.PHONY: charts
charts: $(BIN)/helm ## Package the charts of DPF's components on DPU clusters into out/charts (VERSION).
	@rm -rf out/charts && mkdir -p out/charts
	@for chart in charts/*/; do $(BIN)/helm package $$chart --version '$(VERSION)' --destination out/charts 2>/dev/null || exit 1; done

##@ Tools

.PHONY: tools
tools: announce lab-tools $(DEV_TOOLS:%=$(BIN)/%) ## Build the tools that aren't there yet in the pinned versions.

.PHONY: lab-tools
lab-tools: announce $(LAB_TOOLS:%=$(BIN)/%) $(MANIFESTS:%=$(BIN)/manifests/%.yaml) $(BIN)/manifests/metadata.yaml $(OPENSHIFT:%=$(BIN)/manifests/%.yaml)

# What is going to be built, said before it takes minutes.
.PHONY: announce
announce: missing = $(filter-out $(notdir $(wildcard $(BIN)/*)),$(LAB_TOOLS))
announce:
	@if [ -n "$(missing)" ]; then \
	echo "Not built yet: $(missing)."; \
	echo "All of them take about 7 minutes on two cores: their sources are downloaded as Go modules, and compiled. They stay in bin/."; \
	echo "An interrupted run goes on where it was. A dot is 40 packages."; fi

.PHONY: lab-deps
lab-deps: ## Install what labs and tests take from Debian, as root: OVN, Open vSwitch, FRR, DHCP, Prometheus.
	@hack/lab-deps.sh

.PHONY: help
help:
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# A tool is built again when a version changes. The Go cache makes that quick for those that stayed.
$(LAB_TOOLS:%=$(BIN)/%) $(DEV_TOOLS:%=$(BIN)/%): $(BIN)/%: tools/go.mod tools/go.sum
	@hack/build.sh $* -C tools -ldflags "$(TOOL_LDFLAGS)" -o $@ $(PACKAGE_$*) && touch $@

$(BIN)/argocd $(BIN)/helm: $(BIN)/%: tools/argocd/go.mod tools/argocd/go.sum
	@hack/build.sh $* -C tools/argocd -o $@ $(PACKAGE_$*) && touch $@

# The folder of a module that the go.mod of folder $(1) names, as $$dir. It is downloaded first: of a module that isn't in the
# module cache yet `go list` says nothing, and no error.
find-module = go -C $(1) mod download $(2) && dir=$$(go -C $(1) list -m -f '{{.Dir}}' $(2)) && \
	if [ -z "$$dir" ]; then echo "Go doesn't say in which folder the module $(2) is: see \"go mod download -x $(2)\"" >&2; exit 1; fi

# What Cluster API's managers need in the API server: CRDs, webhooks, roles.
MODULE_core                  := core
MODULE_bootstrap-kubeadm     := bootstrap/kubeadm
MODULE_control-plane-kubeadm := controlplane/kubeadm

$(MANIFESTS:%=$(BIN)/manifests/%.yaml): $(BIN)/manifests/%.yaml: $(BIN)/kubectl tools/go.mod
	@mkdir -p $(@D) && $(call find-module,tools,sigs.k8s.io/cluster-api) && \
	$(BIN)/kubectl kustomize $$dir/$(MODULE_$*)/config/default > $@.new && mv $@.new $@

# Which contract each release of Cluster API keeps: clusterctl asks.
$(BIN)/manifests/metadata.yaml: tools/go.mod
	@mkdir -p $(@D) && $(call find-module,tools,sigs.k8s.io/cluster-api) && install -m 644 $$dir/metadata.yaml $@

# OpenShift's CRDs of Machines and MachineSets.
$(BIN)/manifests/machine-api.yaml: go.mod
	@mkdir -p $(@D) && $(call find-module,.,github.com/openshift/api) && cd $$dir/machine/v1beta1/zz_generated.crd-manifests && \
	for crd in *_machines-Default.crd.yaml *_machinesets-Default.crd.yaml *_machinehealthchecks.crd.yaml; do echo --- && cat $$crd || exit 1; done > $@.new && \
	mv $@.new $@

# And of its ClusterVersion.
$(BIN)/manifests/cluster-version.yaml: go.mod
	@mkdir -p $(@D) && $(call find-module,.,github.com/openshift/api) && \
	install -m 644 $$dir/config/v1/zz_generated.crd-manifests/*_clusterversions-Default.crd.yaml $@
