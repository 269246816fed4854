// Package dpf holds the manifests of DPF's programs for programs.
package dpf

import "embed"

// CRDs are the CustomResourceDefinitions.
//
//go:embed crd/bases/*.yaml
var CRDs embed.FS
