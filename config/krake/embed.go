// Package krake holds the manifests of Krake's manager for programs: `bedplate lab` installs what a production cluster gets.
package krake

import "embed"

// CRDs are the CustomResourceDefinitions.
//
//go:embed crd/bases/*.yaml
var CRDs embed.FS

// Webhooks of the manager; the installer sets where they are served.
//
//go:embed webhook/manifests.yaml
var Webhooks embed.FS
