// Package krake holds the manifests of Krake's manager for programs: `bedplate lab` installs what a production cluster gets.
package krake

import "embed"

// CRDs are the CustomResourceDefinitions.
//
//go:embed crd/bases/*.yaml
var CRDs embed.FS

// RBAC is what the manager's service account and tenants may do.
//
//go:embed rbac/*role*.yaml rbac/secrets_policy.yaml rbac/service_account.yaml
var RBAC embed.FS

// Webhooks of the manager; the installer sets where they are served.
//
//go:embed webhook/manifests.yaml
var Webhooks embed.FS
