package plan

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/printable"
)

// signs of what is done, in the order in which the last line counts it.
var signs = []struct {
	action       graph.Action
	sign, legend string
	count        string
}{
	{graph.ActionCreate, "+", "create", "to create"},
	{graph.ActionChange, "~", "change", "to change"},
	{graph.ActionRepair, "*", "repair", "to repair"},
	{graph.ActionDelete, "-", "delete", "to delete"},
	{graph.ActionAdopt, "&", "adopt (ours already)", "to adopt"},
	{graph.ActionRelease, "x", "release (not deleted)", "to release"},
	{graph.ActionKeep, "=", "keep", "kept"},
	{graph.ActionUse, ">", "use (yours)", "used"},
	{graph.ActionWait, "?", "wait", "waiting"},
	{graph.ActionFail, "!", "can't be done", "can't be done"},
}

func signOf(action graph.Action) string {
	for _, s := range signs {
		if s.action == action {
			return s.sign
		}
	}
	return " "
}

// Print writes the plan in readable form: a line for each resource, with what is done, its ID and why; what changes below
// it; and in the end how many there are.
func Print(out io.Writer, p *Plan) error {
	var text strings.Builder
	for _, c := range p.Clusters {
		printCluster(&text, c)
	}
	text.WriteString(p.total() + "\n")
	if _, err := io.WriteString(out, p.legend()+text.String()); err != nil {
		return fmt.Errorf("print the plan: %w", err)
	}
	return nil
}

// legend explains the signs that occur.
func (p *Plan) legend() string {
	var used []string
	for _, s := range signs {
		if p.Summary[s.action] > 0 {
			used = append(used, s.sign+" "+s.legend)
		}
	}
	if len(used) == 0 {
		return ""
	}
	return strings.Join(used, "   ") + "\n\n"
}

func (p *Plan) total() string {
	var counts []string
	begin := "Nothing to do"
	for _, s := range signs {
		n := p.Summary[s.action]
		if n == 0 {
			continue
		}
		counts = append(counts, fmt.Sprintf("%d %s", n, s.count))
		if s.action != graph.ActionKeep && s.action != graph.ActionUse {
			begin = "Plan"
		}
	}
	if len(counts) == 0 {
		return begin + "."
	}
	return begin + ": " + strings.Join(counts, ", ") + "."
}

func printCluster(text *strings.Builder, c *Cluster) {
	fmt.Fprintf(text, "%s %s/%s", c.Kind, c.Namespace, c.Name)
	if c.New {
		text.WriteString(" (new)")
	}
	text.WriteString("\n")
	for _, note := range c.Notes {
		text.WriteString("  " + printable.Text(note) + "\n")
	}
	var t table
	t.steps(c.Steps, "")
	for _, m := range slices.Concat(c.Others, c.Machines) {
		t.steps(m.Steps, " of "+m.Name)
	}
	t.print(text)
	for _, i := range c.Instances {
		fmt.Fprintf(text, "  %s %s\n", signOf(i.Action), printable.Text(i.String()))
	}
	text.WriteString("\n")
}

// String is the line of some instances, without its sign.
func (i Instances) String() string {
	text := fmt.Sprintf("%d instances", i.Count)
	if i.Count == 1 {
		text = "1 instance"
	}
	switch {
	case i.Type != "":
		text += fmt.Sprintf(" of type %s", cmp.Or(i.TypeName, i.Type))
	case i.MachineID != "":
		text += " on machine " + i.MachineID
	}
	if len(i.Networks) > 0 {
		text += " in " + strings.Join(i.Networks, ", ")
	}
	text += fmt.Sprintf(" for %s %s", i.Kind, i.Name)
	if i.Why != "" {
		text += ": " + i.Why
	}
	return text
}

// table is the lines of resources, in columns: sign, name, ID, why.
type table struct{ rows [][3]string }

func (t *table) row(cells ...string) {
	var row [3]string
	for i, cell := range cells {
		row[i] = printable.Text(cell)
	}
	t.rows = append(t.rows, row)
}

func (t *table) steps(steps []graph.Step, of string) {
	names := map[string]string{}
	for _, s := range steps {
		names[s.Key] = name(s)
	}
	for _, s := range steps {
		t.row(signOf(s.Action)+" "+name(s)+of, s.ID, strings.Join(reasons(s, names), "; "))
		for _, change := range s.Changes {
			t.row("    " + change.String())
		}
	}
}

func reasons(s graph.Step, names map[string]string) []string {
	var all []string
	if len(s.After) > 0 {
		var after []string
		for _, key := range s.After {
			after = append(after, cmp.Or(names[key], key))
		}
		all = append(all, "after "+strings.Join(after, ", "))
	}
	if s.Why != "" {
		all = append(all, s.Why)
	}
	return all
}

// name of a resource in readable form: its kind, and what it is called where there may be several.
func name(s graph.Step) string {
	_, called, several := strings.Cut(s.Key, "/")
	switch {
	case s.Kind == "":
		return s.Key
	case !several || called == s.ID:
		return s.Kind
	}
	return s.Kind + " " + called
}

// print writes the lines. One of a single cell may run on, and makes no column wider.
func (t *table) print(text *strings.Builder) {
	var widths [3]int
	for _, row := range t.rows {
		for i, cell := range row {
			if slices.Max(row[1:]) != "" {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
	}
	for _, row := range t.rows {
		line := "  "
		for i, cell := range row {
			if widths[i] > 0 || cell != "" {
				line += cell + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell))+2)
			}
		}
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
