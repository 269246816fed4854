// Package bmmcloudcontrollermanager holds the manifests of the cloud controller manager for programs: tests run it with the
// rights that it gets in production.
package bmmcloudcontrollermanager

import "embed"

// RBAC is what the cloud controller manager's service account may do.
//
//go:embed rbac/*role*.yaml rbac/service_account.yaml
var RBAC embed.FS

// Manager is its DaemonSet.
//
//go:embed manager/manager.yaml
var Manager embed.FS
