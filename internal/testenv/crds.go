package testenv

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/bedplate/bedplate/internal/localstack/tools"
)

// crds are those that every API server has: Cluster API's, and those of all systems.
func crds(bin tools.Dir) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	systems, err := filepath.Glob(filepath.Join(tools.ModuleRoot("."), "config", "*", "crd", "bases"))
	if err == nil && len(systems) == 0 {
		err = errors.New("there are none")
	}
	if err != nil {
		return nil, fmt.Errorf("look for CRDs in config: %w", err)
	}
	ours, err := readCRDs(systems...)
	if err != nil {
		return nil, err
	}
	theirs, err := ClusterAPI(bin)
	return append(theirs, ours...), err
}

// ClusterAPI returns Cluster API's CRDs without old versions and descriptions: an API server computes its OpenAPI schemas of them at its
// start, and that is much of what a package's tests take.
func ClusterAPI(bin tools.Dir) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	all, err := readCRDs(bin.Path("manifests", "core.yaml"))
	for _, crd := range all {
		crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return !v.Storage })
		for i := range crd.Spec.Versions {
			withoutDescriptions(crd.Spec.Versions[i].Schema.OpenAPIV3Schema)
		}
	}
	return all, err
}

func readCRDs(paths ...string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	read := envtest.CRDInstallOptions{Paths: paths, ErrorIfPathMissing: true}
	if err := envtest.ReadCRDFiles(&read); err != nil {
		return nil, fmt.Errorf("read the CRDs: %w", err)
	}
	return read.CRDs, nil
}

func withoutDescriptions(s *apiextensionsv1.JSONSchemaProps) {
	s.Description = ""
	for name, property := range s.Properties {
		withoutDescriptions(&property)
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		withoutDescriptions(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		withoutDescriptions(s.AdditionalProperties.Schema)
	}
}
