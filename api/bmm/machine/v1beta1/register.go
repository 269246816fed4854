package v1beta1

import (
	_ "embed"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of provider specs and statuses. No API server serves it: they are parts of Machines.
var GroupVersion = schema.GroupVersion{Group: "machine.bmm.bedplate.dev", Version: "v1beta1"}

// Kinds of this package.
const (
	ProviderSpecKind   = "NvidiaBMMMachineProviderSpec"
	ProviderStatusKind = "NvidiaBMMMachineProviderStatus"
)

// ProviderSpecCRD has the schema of a provider spec, with all rules. It is generated as for a kind that an API server
// serves, because what checks the rules there checks them here. It is never installed.
//
//go:embed zz_generated.crd-manifests/machine.bmm.bedplate.dev_nvidiabmmmachineproviderspecs.yaml
var ProviderSpecCRD []byte
