# What `make generate` makes of DPF. The Makefile reads this.
.PHONY: generate-dpf
generate: generate-dpf
generate-dpf: $(BIN)/controller-gen $(BIN)/kubectl
	$(BIN)/controller-gen object paths=./api/dpf/...
	$(BIN)/controller-gen crd paths=./api/dpf/... output:crd:dir=config/dpf/crd/bases
	$(BIN)/controller-gen webhook paths=./internal/dpf/webhook output:webhook:dir=config/dpf/webhook
	$(BIN)/controller-gen rbac:roleName=bedplate-dpf-manager paths=./internal/dpf/operator paths=./internal/dpf/dpucluster \
		output:rbac:dir=config/dpf/rbac
	$(BIN)/kubectl kustomize config/dpf/default | go run ./hack/dpf-bundle

.PHONY: bundle
bundle: $(BIN)/kubectl ## Write the OLM bundle of DPF's operator into out/bundle (VERSION, IMG=registry.example.com/dpf-manager:v0.1.0).
	@rm -rf out/bundle && mkdir -p out/bundle && cp -r config/dpf/bundle/metadata config/dpf/bundle/Dockerfile out/bundle/
	@$(BIN)/kubectl kustomize config/dpf/default | go run ./hack/dpf-bundle -out out/bundle -version '$(VERSION)' -image '$(IMG)'

.PHONY: test-olm
test-olm: ## Let operator-framework's validator judge the OLM bundle.
	@go test -C test/olm -count=1 .
