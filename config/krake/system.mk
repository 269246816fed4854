# What `make generate` makes of the system krake. The Makefile reads this. Values of metrics are floating-point numbers, which
# controller-gen calls dangerous.
.PHONY: generate-krake
generate: generate-krake
generate-krake: $(BIN)/controller-gen
	$(BIN)/controller-gen object paths=./api/krake/...
	$(BIN)/controller-gen crd:allowDangerousTypes=true paths=./api/krake/v1alpha1 output:crd:dir=config/krake/crd/bases
	$(BIN)/controller-gen crd paths=./api/ledger/v1alpha1 output:crd:stdout | sed 's/ledgers\.bedplate\.dev/krake.bedplate.dev/' \
		> config/krake/crd/bases/krake.bedplate.dev_ledgers.yaml
	$(BIN)/controller-gen webhook paths=./internal/krake/webhook output:webhook:dir=config/krake/webhook
	$(BIN)/controller-gen rbac:roleName=bedplate-krake-manager paths=./internal/krake/cluster paths=./internal/krake/guard \
		paths=./internal/krake/observer paths=./internal/krake/scheduler output:rbac:dir=config/krake/rbac
