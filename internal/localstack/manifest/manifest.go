// Package manifest reads Kubernetes objects from YAML.
package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Decode reads the objects of a file.
func Decode(data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("document %d: %w", len(objects)+1, err)
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}

// DecodeAll reads the objects of all files but kustomize's own.
func DecodeAll(files fs.FS) (objects []*unstructured.Unstructured, err error) {
	err = fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "kustomization.yaml" {
			return err
		}
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		more, err := Decode(data)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		objects = slices.Concat(objects, more)
		return nil
	})
	return objects, err
}
