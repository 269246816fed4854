package describe

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/printable"
)

// Print writes the tree in readable form: a line for each object, below it what was created for it outside, what it waits
// for, and further details.
func Print(out io.Writer, root *Object, now time.Time) error {
	p := &printer{now: now}
	p.row("NAME", "READY", "REASON", "SINCE", "MESSAGE")
	p.object(root, "", "", "")
	if _, err := io.WriteString(out, p.table()); err != nil {
		return fmt.Errorf("print the tree: %w", err)
	}
	return nil
}

type printer struct {
	rows [][]string
	now  time.Time
}

func (p *printer) row(cells ...string) {
	var row []string
	for _, cell := range cells {
		row = append(row, printable.Text(cell))
	}
	p.rows = append(p.rows, row)
}

// table aligns the columns. A row of one cell may run on, and makes no column wider.
func (p *printer) table() string {
	var widths [5]int
	for _, row := range p.rows {
		for i := 0; len(row) > 1 && i < len(row); i++ {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	var text strings.Builder
	for _, row := range p.rows {
		line := ""
		for i, cell := range row {
			line += cell + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell))+2)
		}
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return text.String()
}

// object prints one line and what belongs to it. Branch leads to the object; below leads on to its children.
func (p *printer) object(o *Object, indent, branch, below string) {
	name := o.Kind + "/" + o.Name
	if o.Role != "" && o.State == nil {
		name = o.Role
	}
	if o.State == nil {
		p.row(indent + branch + name)
	} else {
		p.condition(indent+branch+name, indent+below+stem(o), *o.State, len(o.Waiting()) == 0)
	}
	for _, r := range o.Outside {
		p.row(indent + below + stem(o) + "  " + resource(r))
	}
	for _, c := range o.Waiting() {
		p.condition(indent+below+stem(o)+"  "+c.Type, indent+below+stem(o), c, true)
	}
	for _, d := range o.Details {
		p.row(indent + below + stem(o) + "  " + p.detail(d))
	}
	for i, child := range o.Children {
		if i == len(o.Children)-1 {
			p.object(child, indent+below, "└─", "  ")
		} else {
			p.object(child, indent+below, "├─", "│ ")
		}
	}
}

// stem is the line beside what belongs to an object, down to its children.
func stem(o *Object) string {
	if len(o.Children) > 0 {
		return "│ "
	}
	return "  "
}

func (p *printer) condition(name, indent string, c metav1.Condition, withMessage bool) {
	lines := []string{""}
	if withMessage && c.Status != metav1.ConditionTrue {
		lines = strings.Split(c.Message, "\n")
	}
	reason := c.Reason
	if c.Status == metav1.ConditionTrue {
		reason = ""
	}
	p.row(name, string(c.Status), reason, age(c.LastTransitionTime, p.now), lines[0])
	for _, line := range lines[1:] {
		p.row(indent, "", "", "", line)
	}
}

func resource(r ledgers.Resource) string {
	text := r.Kind
	if _, name, named := strings.Cut(r.Key, "/"); named {
		text += "/" + name
	}
	if r.ID == "" {
		return text + " (pending)"
	}
	text += " " + r.ID
	if !r.Own {
		text += " (yours)"
	}
	return text
}

func (p *printer) detail(d Detail) string {
	words := []string{d.Name}
	if d.Text != "" {
		words = append(words, d.Text)
	}
	switch {
	case d.Time == nil:
	case d.Time.After(p.now):
		words = append(words, "in", duration.HumanDuration(d.Time.Sub(p.now)))
	default:
		words = append(words, duration.HumanDuration(p.now.Sub(d.Time.Time)), "ago")
	}
	return strings.Join(words, " ")
}

// age of a condition, as kubectl writes it.
func age(since metav1.Time, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return duration.HumanDuration(now.Sub(since.Time))
}
