package sim

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// template is a document in TOSCA.
type template map[string]any

var versions = []string{
	"tosca_simple_yaml_1_0", "tosca_simple_yaml_1_0_0", "tosca_simple_yaml_1_1", "tosca_simple_yaml_1_2", "tosca_simple_yaml_1_3",
}

// maxMachines bounds those of a template: the simulator has them in memory.
const maxMachines = 1000

// parseTemplate returns a template with at least one machine in it.
func parseTemplate(text []byte) (template, error) {
	t := template{}
	if err := yaml.Unmarshal(text, &t); err != nil {
		return nil, fmt.Errorf("the template isn't YAML: %w", err)
	}
	if version, _ := t["tosca_definitions_version"].(string); !slices.Contains(versions, version) {
		return nil, fmt.Errorf("the template version %q in the template is not supported", version)
	}
	_, err := t.machines()
	return t, err
}

// in is a map in a map, or none.
func in(m map[string]any, path ...string) map[string]any {
	for _, key := range path {
		m, _ = m[key].(map[string]any)
	}
	return m
}

// machines are how many there are of each node template.
func (t template) machines() (map[string]int, error) {
	nodes := in(t, "topology_template", "node_templates")
	if len(nodes) == 0 {
		return nil, fmt.Errorf("the template has no node_templates")
	}
	counts, total := map[string]int{}, 0
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		node, _ := nodes[name].(map[string]any)
		kind, _ := node["type"].(string)
		if kind == "" {
			return nil, fmt.Errorf("Template %q is missing required field %q", name, "type") //nolint:staticcheck // IM's words
		}
		if !strings.HasSuffix(kind, ".Compute") {
			continue
		}
		count, err := t.count(node)
		if err != nil {
			return nil, fmt.Errorf("node template %q: %w", name, err)
		}
		if total += count; total > maxMachines {
			return nil, fmt.Errorf("the template has more than %d machines", maxMachines)
		}
		counts[name] = count
	}
	if total == 0 {
		return nil, fmt.Errorf("the template has no machine")
	}
	return counts, nil
}

// count of the machines of a node template: a number, or an input that has one.
func (t template) count(node map[string]any) (int, error) {
	value, has := in(node, "capabilities", "scalable", "properties")["count"]
	if !has {
		return 1, nil
	}
	if function, ok := value.(map[string]any); ok {
		name, _ := function["get_input"].(string)
		if value, has = in(t, "topology_template", "inputs", name)["default"]; !has {
			return 0, fmt.Errorf("count has no value: there is no input %q with a default", name)
		}
	}
	number, ok := value.(float64)
	if !ok || number < 0 || number != math.Trunc(number) || number > maxMachines {
		return 0, fmt.Errorf("count %v isn't a number of machines", value)
	}
	return int(number), nil
}

// merge another template into this one: maps key by key, everything else as a whole. Nothing is removed.
func (t template) merge(other template) template { return merged(t, other) }

func merged(old, other map[string]any) map[string]any {
	all := maps.Clone(old)
	for key, value := range other {
		deeper, isMap := value.(map[string]any)
		if before, wasMap := all[key].(map[string]any); isMap && wasMap {
			value = merged(before, deeper)
		}
		all[key] = value
	}
	return all
}

// outputs of the template by their names, as far as the template has their values itself.
func (t template) outputs() map[string]any {
	values := map[string]any{}
	for name, output := range in(t, "topology_template", "outputs") {
		fields, _ := output.(map[string]any)
		if values[name] = fields["value"]; in(fields, "value") != nil {
			values[name] = nil // a function, of what isn't there yet
		}
	}
	return values
}

// text of the template, in IM's own formatting.
func (t template) text() string {
	text, _ := yaml.Marshal(map[string]any(t)) // can't fail: it was YAML
	return string(text)
}
