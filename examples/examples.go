// Package examples holds examples of use, as templates with ${VARIABLES} and ${VARIABLES:=defaults} like clusterctl's.
package examples

import (
	"bytes"
	"embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

//go:embed */*.yaml
var files embed.FS

// examples are the files of each example, in the order in which they are applied.
var examples = map[string][]string{
	"bmm":                {"bmm/cluster.yaml", "bmm/cloud-controller-manager.yaml"},
	"bmm-class":          {"bmm/clusterclass.yaml", "bmm/cluster-from-class.yaml", "bmm/cloud-controller-manager.yaml"},
	"dpf":                {"dpf/operatorconfig.yaml"},
	"hydrazine":          {"hydrazine/site.yaml", "hydrazine/groups.yaml", "hydrazine/services.yaml"},
	"krake":              {"krake/clouds.yaml", "krake/cluster.yaml"},
	"openshift-machines": {"openshift/machines.yaml"},
	"powervs":            {"powervs/cluster.yaml", "powervs/cloud-controller-manager.yaml"},
	"powervs-class": {
		"powervs/clusterclass.yaml", "powervs/cluster-from-class.yaml", "powervs/cloud-controller-manager.yaml",
	},
	"powervs-ignition": {"powervs-ignition/cluster.yaml", "powervs/cloud-controller-manager.yaml"},
}

var variable = regexp.MustCompile(`\$\{([A-Z][A-Z0-9_]*)(:=[^}]*)?\}`)

// Names returns the names of all examples.
func Names() []string { return slices.Sorted(maps.Keys(examples)) }

// Render returns the YAML of an example. It fails when a variable has no value.
func Render(name string, variables map[string]string) ([]byte, error) {
	paths, ok := examples[name]
	if !ok {
		return nil, fmt.Errorf("no example %q; there are: %s", name, strings.Join(Names(), ", "))
	}
	var documents [][]byte
	for _, path := range paths {
		data, err := files.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read example: %w", err)
		}
		document, err := substitute(data, variables)
		if err != nil {
			return nil, fmt.Errorf("example %s: %w", path, err)
		}
		documents = append(documents, document)
	}
	return bytes.Join(documents, []byte("\n---\n")), nil
}

func substitute(template []byte, variables map[string]string) ([]byte, error) {
	missing := map[string]bool{}
	text := variable.ReplaceAllFunc(template, func(match []byte) []byte {
		parts := variable.FindSubmatch(match)
		name, fallback := string(parts[1]), parts[2]
		value, ok := variables[name]
		switch {
		case ok:
			return []byte(value)
		case fallback != nil:
			return fallback[len(":="):]
		}
		missing[name] = true
		return nil
	})
	if len(missing) > 0 {
		return nil, fmt.Errorf("no value for %s", strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
	}
	return text, nil
}
