// Package dpf holds the manifests of DPF's programs for programs.
package dpf

import "embed"

// CRDs are the CustomResourceDefinitions.
//
//go:embed crd/bases/*.yaml
var CRDs embed.FS

// RBAC is what the operator's service account and those of its components may do.
//
//go:embed rbac/*role*.yaml rbac/service_account.yaml
var RBAC embed.FS

// Admission has the policies: there is one DPFOperatorConfig, no interface goes that is in use, and services are in allowed namespaces.
//
//go:embed admission/*_policy.yaml
var Admission embed.FS

// Webhooks of the operator; the installer sets where they are served.
//
//go:embed webhook/manifests.yaml
var Webhooks embed.FS
