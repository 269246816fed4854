package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// registrations are the files that name all systems, and what becomes of their texts.
var registrations = map[string]func(text, name, kind string) (string, error){
	".golangci.yml":        importRules,
	"docs/architecture.md": packages,
	"cmd/bedplate/systems.go": func(text, name, _ string) (string, error) {
		return listed(text, "var systems = catalogue{", name+"System")
	},
	"examples/examples.go": func(text, name, _ string) (string, error) {
		return before(text, "\t\"openshift-machines\":", fmt.Sprintf("\t%q: {%q},\n", name, name+"/cluster.yaml"))
	},
	"internal/localstack/stack.go": func(text, name, _ string) (string, error) {
		return listed(text, "var programs = []string{", name+"Manager")
	},
	"internal/localstack/lab/example.go": func(text, name, kind string) (string, error) {
		return before(text, "\tMachinesExample:", fmt.Sprintf("\t%q: {tools: localstack.%sTools, start: (*run).start%s},\n", name, kind, kind))
	},
}

// listed puts a name at the end of a list that is written in one line.
func listed(text, list, name string) (string, error) {
	head, tail, found := strings.Cut(text, list)
	if !found {
		return "", fmt.Errorf("there is no %q", list)
	}
	names, tail, _ := strings.Cut(tail, "}")
	return head + list + names + ", " + name + "}" + tail, nil
}

// before puts text before the first line that begins with an anchor.
func before(text, anchor, more string) (string, error) {
	i := strings.Index(text, "\n"+anchor)
	if i < 0 {
		return "", fmt.Errorf("there is no line that begins with %q", anchor)
	}
	return text[:i+1] + more + text[i+1:], nil
}

// all puts several texts before their anchors.
func all(text string, pairs ...[2]string) (string, error) {
	var failed error
	for _, p := range pairs {
		after, err := before(text, p[0], p[1])
		if failed = errors.Join(failed, err); err == nil {
			text = after
		}
	}
	return text, failed
}

// packages adds the system to the list of packages.
func packages(text, name, kind string) (string, error) {
	in := func(folder, what string) string { return fmt.Sprintf("  %-21s %s\n", folder, what) }
	inside := func(folder, what string) string { return fmt.Sprintf("    %-19s %s\n", folder, what) }
	return all(text,
		[2]string{"cmd/ ", in(name+"/v1alpha1", kind+"Cluster")},
		[2]string{"internal/", fmt.Sprintf("  %-30s the Cluster API infrastructure provider for %s\n", name+"-manager/", kind)},
		[2]string{"  localstack/ ", fmt.Sprintf("  %-19s everything that knows %s\n", name+"/", kind) +
			inside("client/", "the only package that calls the "+kind+" API") +
			inside("cluster/", kind+"Cluster: a network") +
			inside("tag/", "how resources carry our tags") +
			inside("plan/", "how the graphs of clusters are made for a plan") +
			inside("orphans/", "what may be an orphan at a "+kind+" API, and of which object") +
			inside("provider/", "the controllers put together") +
			inside("sim/", "the stateful simulator of the "+kind+" API")},
	)
}

const (
	module    = "github.com/bedplate/bedplate/"
	neighbour = "desc: systems never import each other}"
	runLab    = "            - {pkg: " + module + "internal/localstack, desc: only tests and cmd/bedplate run a lab}\n"
	noCommand = "            - {pkg: " + module + "cmd, desc: nothing imports a command}\n"
)

var neighbours = regexp.MustCompile(`\{pkg: (\S+), ` + neighbour)

// importRules lets no shared package and no other system import the system, and the system none of them; and none its simulator.
func importRules(text, name, _ string) (string, error) {
	inside := "internal/" + name
	deny := func(pkg, why string) string { return "            - {pkg: " + module + pkg + ", desc: " + why + "}\n" }
	noSim := deny(inside+"/sim", "only tests and cmd/bedplate run a simulator")

	var others []string
	lines := strings.SplitAfter(text, "\n")
	for i := len(lines) - 1; i > 0; i-- {
		if match := neighbours.FindStringSubmatch(lines[i]); match != nil {
			others = append(others, "            - {pkg: "+match[1]+", "+neighbour+"\n")
			if !strings.Contains(lines[i-1], neighbour) { // the first one of a rule
				lines = slices.Insert(lines, i, deny(inside, "systems never import each other"))
			}
		}
	}
	slices.Sort(others)
	text = strings.Join(lines, "")

	const shared = `"!**/internal/localstack/**"`
	if !strings.Contains(text, shared) || !strings.Contains(text, runLab) || len(others) == 0 {
		return "", errors.New("its rules don't look as expected")
	}
	text = strings.Replace(text, shared, `"!**/`+inside+`/**", `+shared, 1)
	text = strings.Replace(text, runLab, deny(inside, "shared packages know no system")+
		deny("api/"+name, "shared packages know no system's kinds")+runLab, 1)
	last := strings.LastIndex(text, runLab) + len(runLab) // that of the managers
	text = text[:last] + noSim + text[last:]
	return before(text, "        managers:", "        "+name+":\n"+
		`          files: ["**/`+inside+`/**", "!**/`+inside+`/sim/**", "!$test"]`+"\n          deny:\n"+
		runLab+noSim+strings.Join(slices.Compact(others), "")+noCommand+
		"        "+name+"-simulator: # of two prefixes the longer one counts\n          list-mode: lax\n"+
		`          files: ["**/`+inside+`/sim/**", "!$test"]`+"\n          allow:\n"+
		"            - "+module+inside+"/sim\n            - "+module+inside+"/client\n            - "+module+"internal/simulator\n          deny:\n"+
		deny("internal", "a simulator knows nothing of who calls it")+deny("api", "a simulator knows nothing of who calls it")+noCommand)
}
