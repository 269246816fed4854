package cloudinit

import (
	"fmt"
	"regexp"
	"strings"
)

// missing is what cloud-init writes in place of a variable that doesn't exist, followed by its name.
const missing = "CI_MISSING_JINJA_VAR/"

var (
	variable    = regexp.MustCompile(`^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\s*(?:'[^']*'|"[^"]*")\s*\])*$`)
	step        = regexp.MustCompile(`[A-Za-z_]\w*|'[^']*'|"[^"]*"`)
	subtraction = regexp.MustCompile(`^[\w.]+(?:-[\w.]+)+$`)
	opening     = regexp.MustCompile(`\{\{|\{%|\{#`)
	endRaw      = regexp.MustCompile(`\{%[-+]?\s*endraw\s*[-+]?%\}`)
	closing     = map[string]string{"{{": "}}", "{%": "%}", "{#": "#}"}
)

// variables returns what a template sees: cloud-init's instance data made from the metadata of the data source. Every
// key can also be written with "_" for "-" and ".", and the keys of v1 also without "v1".
func variables(metadata map[string]string) map[string]any {
	data := map[string]any{}
	for key, value := range metadata {
		data[key] = value
		data[strings.NewReplacer("-", "_", ".", "_").Replace(key)] = value
	}
	v1 := map[string]any{}
	vars := map[string]any{"ds": map[string]any{"meta_data": data}, "v1": v1}
	for standard, keys := range map[string][]string{
		"instance_id":    {"instance-id"},
		"local_hostname": {"local-hostname", "hostname"},
	} {
		for _, key := range keys {
			if value, ok := metadata[key]; ok {
				v1[standard], vars[standard] = value, value
				break
			}
		}
	}
	return vars
}

// render renders the part of jinja that user data for Kubernetes machines uses: variables, comments and raw blocks.
// Anything else is an error, not a guess.
func render(template string, vars map[string]any) (string, error) {
	var out strings.Builder
	rest := template
	for {
		at := opening.FindStringIndex(rest)
		if at == nil {
			out.WriteString(rest)
			return out.String(), nil
		}
		open := rest[at[0]:at[1]]
		body, after, closed := strings.Cut(rest[at[1]:], closing[open])
		if !closed {
			return "", fmt.Errorf("%q is never closed", open)
		}
		before := rest[:at[0]]
		if strings.HasPrefix(body, "-") {
			before = strings.TrimRight(before, " \t\r\n")
		}
		if strings.HasSuffix(body, "-") {
			after = strings.TrimLeft(after, " \t\r\n")
		}
		out.WriteString(before)
		text, remaining, err := replace(open, strings.TrimSpace(strings.Trim(body, "-+")), after, vars)
		if err != nil {
			return "", err
		}
		out.WriteString(text)
		rest = remaining
	}
}

// replace returns what stands for one jinja construct, and the template after it.
func replace(open, body, after string, vars map[string]any) (text, rest string, err error) {
	switch {
	case open == "{#":
		return "", after, nil
	case open == "{{":
		text, err := evaluate(body, vars)
		return text, after, err
	case body == "raw":
		end := endRaw.FindStringIndex(after)
		if end == nil {
			return "", "", fmt.Errorf("%q is never closed", "{% raw %}")
		}
		// cloud-init renders with trim_blocks: the newline after a block is gone.
		return strings.TrimPrefix(after[:end[0]], "\n"), strings.TrimPrefix(after[end[1]:], "\n"), nil
	default:
		return "", "", fmt.Errorf("%q is not supported here", "{% "+body+" %}")
	}
}

func evaluate(expression string, vars map[string]any) (string, error) {
	if subtraction.MatchString(expression) {
		return "", fmt.Errorf("%q is a subtraction to jinja; perhaps you meant %q",
			expression, strings.ReplaceAll(expression, "-", "_"))
	}
	if !variable.MatchString(expression) {
		return "", fmt.Errorf("the expression %q is not supported here", expression)
	}
	path := step.FindAllString(expression, -1)
	var value any = vars
	for i, name := range path {
		name = strings.Trim(name, `'"`)
		node, ok := value.(map[string]any)
		if !ok {
			return "", fmt.Errorf("%q: what is before %q has no parts", expression, name)
		}
		if value, ok = node[name]; ok {
			continue
		}
		if i < len(path)-1 {
			return "", fmt.Errorf("%q: %q is undefined", expression, name)
		}
		return missing + name, nil
	}
	text, ok := value.(string)
	if !ok {
		return "", fmt.Errorf("%q is not a single value", expression)
	}
	return text, nil
}
