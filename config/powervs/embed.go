// Package powervs holds the manifests of the provider for IBM Power Virtual Server for programs: `bedplate lab` installs what a
// production cluster gets, with the same rights.
package powervs

import "embed"

// CRDs are the CustomResourceDefinitions.
//
//go:embed crd/bases/*.yaml
var CRDs embed.FS

// RBAC is what the manager's service account may do.
//
//go:embed rbac/*role*.yaml rbac/secrets_policy.yaml rbac/service_account.yaml
var RBAC embed.FS

// Webhooks of the manager; the installer sets where they are served.
//
//go:embed webhook/manifests.yaml
var Webhooks embed.FS
