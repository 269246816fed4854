// Package krake holds the manifests of Krake's manager for programs: `bedplate lab` installs what a production cluster gets.
package krake

import "embed"

// CRDs are the CustomResourceDefinitions.
//
//go:embed crd/bases/*.yaml
var CRDs embed.FS
