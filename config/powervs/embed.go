// Package powervs holds the manifests of the provider for IBM Power Virtual Server for programs.
package powervs

import "embed"

// CRDs are the CustomResourceDefinitions.
//
//go:embed crd/bases/*.yaml
var CRDs embed.FS

// Webhooks of the manager; the installer sets where they are served.
//
//go:embed webhook/manifests.yaml
var Webhooks embed.FS
