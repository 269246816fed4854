package orphans

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/bedplate/bedplate/internal/printable"
)

// Print writes the report in readable form.
func Print(out io.Writer, r *Report) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	owners := map[string]bool{}
	if len(r.Orphans) > 0 {
		fmt.Fprintln(table, "OWNER\tKIND\tNAME\tID\tSITE\tSTATUS\tNOTE")
	}
	for _, o := range r.Orphans {
		owners[o.Owner] = true
		var fields []string
		for _, field := range []string{o.Owner, o.Kind, o.Name, o.ID, o.SiteID, o.Status, o.note()} {
			fields = append(fields, printable.Text(field))
		}
		fmt.Fprintln(table, strings.Join(fields, "\t"))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the orphans: %w", err)
	}
	if len(r.LeftOut) > 0 {
		text.WriteString("\nLeft out, because it may be in use by others:\n")
	}
	for _, o := range r.LeftOut {
		fmt.Fprintf(&text, "  %s\n", printable.Text(fmt.Sprintf("%s: %s", o.item, o.Why)))
	}
	if len(r.Incomplete) > 0 {
		text.WriteString("\nINCOMPLETE: this couldn't be read:\n")
	}
	for _, what := range r.Incomplete {
		fmt.Fprintf(&text, "  %s\n", printable.Text(what))
	}
	of := ""
	if len(r.owners) > 0 {
		of = " of " + printable.Text(strings.Join(r.owners, ","))
	}
	switch {
	case len(r.Orphans) == 0 && len(r.Incomplete) > 0:
		fmt.Fprintf(&text, "\nNo orphans%s in what could be seen.\n", of)
	case len(r.Orphans) == 0:
		fmt.Fprintf(&text, "\nNo orphans%s.\n", of)
	default:
		fmt.Fprintf(&text, "\n%d resources of %d owners.\n\nWARNING: %s\n", len(r.Orphans), len(owners), r.Warning)
	}
	_, err := io.WriteString(out, strings.TrimPrefix(trimLines(text.String()), "\n"))
	return err
}

// note is the outcome of a deletion, or why an orphan is listed.
func (o *Orphan) note() string {
	if o.Deletion == "" {
		return o.Why
	}
	if o.DeletionWhy == "" {
		return string(o.Deletion)
	}
	return string(o.Deletion) + ": " + o.DeletionWhy
}

func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
