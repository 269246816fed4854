package instance

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
)

// What the BMM API takes, in characters.
const (
	maxSummary = 256
	maxDetails = 1024
)

// HealthIssue is a word to the site's operator about what was found; nil where nothing was, and no person has written
// anything into the machine's annotation. The category is Other, because nothing in Kubernetes can tell hardware from
// software, unless that person has written a known one.
func HealthIssue(machine metav1.Object, found, details string) *bmm.MachineHealthIssue {
	category, written := machine.GetAnnotations()[infrav1.HealthIssueAnnotation]
	switch {
	case found != "":
	case written:
		found = "reported with the annotation " + infrav1.HealthIssueAnnotation
	default:
		return nil
	}
	issue := &bmm.MachineHealthIssue{
		Category: bmm.IssueOther, Summary: cut(found, maxSummary), Details: cut(details, maxDetails),
	}
	switch known := bmm.MachineHealthIssueCategory(category); known {
	case bmm.IssueHardware, bmm.IssueNetwork, bmm.IssuePerformance:
		issue.Category = known
	}
	return issue
}

func cut(text string, characters int) string {
	all := []rune(text)
	return string(all[:min(len(all), characters)])
}
