// Package bmmmachinecontroller holds the manifests of OpenShift's machine controller for NVIDIA bare metal for programs:
// `bedplate lab` installs what a production cluster gets, with the same rights.
package bmmmachinecontroller

import "embed"

// CRDs are the CustomResourceDefinitions that aren't OpenShift's own.
//
//go:embed crd/bmm*.yaml
var CRDs embed.FS

// RBAC is what the controller's service account may do.
//
//go:embed rbac/*role*.yaml rbac/secrets_policy.yaml rbac/service_account.yaml
var RBAC embed.FS

// Webhooks of the controller; the installer sets where they are served.
//
//go:embed webhook/manifests.yaml
var Webhooks embed.FS
