package tosca

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Imports are what a template may import: the infrastructure manager reads it, from its own place in the network. Each is a URL, or ends
// with "/" and allows all below it. If it is empty nothing may be imported.
type Imports []string

// ParseImports checks that each is an absolute URL.
func ParseImports(all []string) (Imports, error) {
	for _, one := range all {
		if u, err := url.Parse(one); err != nil || u.Scheme == "" || u.Host == "" {
			return nil, fmt.Errorf("%q isn't a URL with a host, such as https://example.com/types/", one)
		}
	}
	return all, nil
}

// Problems of a template's structure, each with its place and its remedy.
func (i Imports) Problems(t *Template) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if version, _ := t.top()["tosca_definitions_version"].(string); !strings.HasPrefix(version, "tosca_simple_yaml_") {
		say("tosca_definitions_version must be one of the TOSCA Simple Profile in YAML, such as tosca_simple_yaml_1_0")
	}
	if _, err := t.Marked(""); err != nil {
		say("%s", err)
	}
	if len(t.mapping("topology_template", "node_templates")) == 0 {
		say("topology_template.node_templates must have what the cluster consists of")
	}
	if kubeconfig := t.mapping("topology_template", "outputs", "kubeconfig"); kubeconfig["value"] == nil {
		say("topology_template.outputs.kubeconfig must have a value, such as {get_attribute: [NODE_TEMPLATE, kubeconfig]}: " +
			"it is how the cluster is reached")
	}
	return append(problems, i.Refuse(t)...)
}

// Refuse what a template imports or has read otherwise, and isn't allowed.
func (i Imports) Refuse(t *Template) (problems []string) {
	for _, imported := range t.outline().imports {
		if !i.allow(imported) {
			problems = append(problems, fmt.Sprintf("imports: %q isn't allowed: the manager allows %s (--tosca-imports)", imported, i))
		}
	}
	for _, file := range t.outline().files {
		if isRead(file) && !i.allow(file) {
			problems = append(problems, fmt.Sprintf("implementation or artifact %q isn't allowed: the manager allows %s (--tosca-imports)", file, i))
		}
	}
	return problems
}

// String is for people.
func (i Imports) String() string {
	if len(i) == 0 {
		return "none"
	}
	return strings.Join(i, ", ")
}

func (i Imports) allow(imported string) bool {
	u, err := url.Parse(imported)
	if err != nil || u.Path != "" && path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") || strings.ContainsAny(imported, "\\\t\n ") {
		return false
	}
	return slices.ContainsFunc(i, func(allowed string) bool {
		return imported == allowed || strings.HasSuffix(allowed, "/") && strings.HasPrefix(imported, allowed)
	})
}

// imports are the URLs and files of all, in each of the three notations: a text, a name with a text, a name with a file and more. What is
// written otherwise is in the list as it is, so that it isn't allowed.
func (t *Template) imports() (all []string) {
	value, there := t.top()["imports"]
	if !there || value == nil {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for _, entry := range list {
		mapping, ok := entry.(map[string]any)
		if !ok {
			all = append(all, fmt.Sprint(entry))
			continue
		}
		if _, ok := mapping["file"]; ok {
			mapping = map[string]any{"": mapping}
		}
		for _, name := range slices.Sorted(maps.Keys(mapping)) {
			all = append(all, location(mapping[name]))
		}
	}
	return all
}

// location of what is imported. A repository changes what a file's name means.
func location(value any) string {
	described, ok := value.(map[string]any)
	if !ok {
		return fmt.Sprint(value)
	}
	if repository, ok := described["repository"]; ok {
		return fmt.Sprintf("%v of repository %v", described["file"], repository)
	}
	return fmt.Sprint(described["file"])
}
