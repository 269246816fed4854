// Package hydrazinespeaker holds the manifests of the BGP speaker for programs: tests and labs run it with the rights that it
// gets in production.
package hydrazinespeaker

import "embed"

// RBAC is what the speakers' service account may do.
//
//go:embed rbac/*role*.yaml rbac/service_account.yaml rbac/namespace.yaml
var RBAC embed.FS
