package orphans

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Print writes the report for people.
func Print(out io.Writer, r *Report) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	owners := map[string]bool{}
	if len(r.Orphans) > 0 {
		fmt.Fprintln(table, "OWNER\tKIND\tNAME\tID\tSITE\tSTATUS\tNOTE")
	}
	for _, o := range r.Orphans {
		owners[o.Owner] = true
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", o.Owner, o.Kind, o.Name, o.ID, o.SiteID, o.Status, o.note())
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the orphans: %w", err)
	}
	if len(r.LeftOut) > 0 {
		text.WriteString("\nLeft out, because it may be somebody's own:\n")
	}
	for _, o := range r.LeftOut {
		fmt.Fprintf(&text, "  %s: %s\n", o.item, o.Why)
	}
	if len(r.Orphans) == 0 {
		text.WriteString("\nNo orphans.\n")
	} else {
		fmt.Fprintf(&text, "\n%d resources of %d owners.\n\nWARNING: %s\n", len(r.Orphans), len(owners), r.Warning)
	}
	_, err := io.WriteString(out, strings.TrimPrefix(trimLines(text.String()), "\n"))
	return err
}

// note says what came of a deletion, or why an orphan is listed.
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
