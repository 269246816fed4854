# What `make generate` makes of the system powervs. The Makefile reads this.
.PHONY: generate-powervs
generate: generate-powervs
generate-powervs: $(BIN)/controller-gen
	$(BIN)/controller-gen object paths=./api/powervs/...
	$(BIN)/controller-gen crd:generateEmbeddedObjectMeta=true paths=./api/powervs/v1beta2 output:crd:dir=config/powervs/crd/bases
	$(BIN)/controller-gen crd paths=./api/ledger/v1alpha1 output:crd:stdout | sed 's/ledgers\.bedplate\.dev/powervs.bedplate.dev/' \
		> config/powervs/crd/bases/powervs.bedplate.dev_ledgers.yaml
	$(BIN)/controller-gen webhook paths=./internal/powervs/webhook output:webhook:dir=config/powervs/webhook
	$(BIN)/controller-gen rbac:roleName=bedplate-powervs-manager paths=./internal/powervs/cluster paths=./internal/powervs/machine \
		paths=./internal/powervs/image paths=./internal/powervs/machinetemplate output:rbac:dir=config/powervs/rbac
