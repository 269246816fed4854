// Package hydrazineproxy holds the manifests of Hydrazine's gRPC proxy for programs.
package hydrazineproxy

import "embed"

// RBAC is what the proxy's service account may do.
//
//go:embed rbac/*role*.yaml rbac/service_account.yaml
var RBAC embed.FS
