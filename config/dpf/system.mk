# What `make generate` makes of DPF. The Makefile reads this.
.PHONY: generate-dpf
generate: generate-dpf
generate-dpf: $(BIN)/controller-gen
	$(BIN)/controller-gen object paths=./api/dpf/...
	$(BIN)/controller-gen crd paths=./api/dpf/... output:crd:dir=config/dpf/crd/bases
	$(BIN)/controller-gen webhook paths=./internal/dpf/webhook output:webhook:dir=config/dpf/webhook
	$(BIN)/controller-gen rbac:roleName=bedplate-dpf-manager paths=./internal/dpf/operator paths=./internal/dpf/dpucluster \
		output:rbac:dir=config/dpf/rbac
