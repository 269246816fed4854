package machine

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
)

// What the BMM API takes, in characters.
const (
	maxSummary = 256
	maxDetails = 1024
)

// deleteInstance tells the site's operator what is wrong with the machine, if that is why it goes: otherwise the next
// tenant gets the same one.
func (n *node) deleteInstance(ctx context.Context, id string) error {
	n.reconciler.Instances.Touch(n.api, n.siteID(), id)
	defer n.reconciler.Instances.Touch(n.api, n.siteID(), id) // a list may have begun meanwhile
	if issue := n.healthIssue(); issue != nil {
		return n.api.DeleteUnhealthyInstance(ctx, n.siteID(), id, *issue)
	}
	return n.api.DeleteInstance(ctx, n.siteID(), id)
}

// healthIssue is nil for a machine that isn't known to be unhealthy. A MachineHealthCheck can't tell hardware from software,
// so the category is Other unless a person has written another one into an annotation.
func (n *node) healthIssue() *bmm.MachineHealthIssue {
	category, written := n.object.Annotations[infrav1.HealthIssueAnnotation]
	known := []bmm.MachineHealthIssueCategory{bmm.IssueHardware, bmm.IssueNetwork, bmm.IssuePerformance, bmm.IssueOther}
	issue := &bmm.MachineHealthIssue{Category: bmm.MachineHealthIssueCategory(category)}
	if !slices.Contains(known, issue.Category) {
		issue.Category = bmm.IssueOther
	}
	var check *metav1.Condition
	if n.machine != nil {
		check = conditions.Get(n.machine, clusterv1.MachineHealthCheckSucceededCondition)
	}
	switch {
	case check != nil && check.Status == metav1.ConditionFalse:
		issue.Summary = "MachineHealthCheck failed: " + check.Reason
		issue.Details = check.Message
	case written:
		issue.Summary = fmt.Sprintf("reported with the annotation %s", infrav1.HealthIssueAnnotation)
	default:
		return nil
	}
	issue.Summary, issue.Details = cut(issue.Summary, maxSummary), cut(issue.Details, maxDetails)
	return issue
}

func cut(text string, characters int) string {
	all := []rune(text)
	return string(all[:min(len(all), characters)])
}
