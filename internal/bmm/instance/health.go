package instance

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/graph"
)

// Limits of the BMM API, in characters.
const (
	maxSummary = 256
	maxDetails = 1024
)

const (
	// maxReports is how many reports a cluster may send in reportsWithin.
	maxReports    = 3
	reportsWithin = time.Hour
)

// Health of a machine whose instance is to be deleted, as Kubernetes knows it.
type Health struct {
	// Object has the annotation that the user may have written, and gets an event.
	Object client.Object
	// Cluster that the machine is of; empty if there is one only.
	Cluster string
	// Found is what is wrong; empty if nothing is known to be.
	Found, Details string
}

// Reports remembers which unhealthy machines were reported to the sites' operators. Each report takes a host out of its
// site's pool until the operator has checked it, so there are few. It is kept in memory, and empty after a restart of the
// manager.
type Reports struct {
	mu   sync.Mutex
	told map[string][]report // by cluster
}

type report struct {
	instanceID string
	at         time.Time
}

// take reports whether an instance may be reported. One that was allowed is allowed again, because a call may fail.
func (r *Reports) take(cluster, instanceID string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.told == nil {
		r.told = map[string][]report{}
	}
	for name, told := range r.told {
		r.told[name] = slices.DeleteFunc(told, func(one report) bool { return now.Sub(one.at) >= reportsWithin })
		if len(r.told[name]) == 0 {
			delete(r.told, name)
		}
	}
	told := r.told[cluster]
	if slices.ContainsFunc(told, func(one report) bool { return one.instanceID == instanceID }) {
		return true
	}
	if len(told) >= maxReports {
		return false
	}
	r.told[cluster] = append(told, report{instanceID, now})
	return true
}

// healthIssue is a report to the site's operator about the instance's machine; nil without one. What Kubernetes has found may
// as well be a bad image or a network, on all machines at once. So the user has to have written it into the annotation, or the
// BMM API has to show an alert itself.
func (i *Instance) healthIssue(ctx context.Context, id string) (*bmm.MachineHealthIssue, error) {
	h, err := i.machine.Health(ctx)
	if err != nil {
		return nil, err
	}
	category, written := h.Object.GetAnnotations()[infrav1.HealthIssueAnnotation]
	details := h.Details
	if !written {
		if h.Found == "" {
			return nil, nil
		}
		alert := i.alert(ctx)
		if alert == "" {
			return nil, nil
		}
		details = "BMM says: " + alert + "\n" + details
	}
	if !i.reports.take(h.Cluster, id, i.engine.Clock.Now()) {
		i.engine.Recorder.Eventf(h.Object, nil, corev1.EventTypeWarning, "NotReported", "Delete", "%s", graph.Note(
			"the unhealthy machine of instance "+id+" isn't reported to the site's operator: this cluster has reached its limit of reports per hour; "+
				"tell the operator what is wrong with these machines"))
		return nil, nil
	}
	issue := &bmm.MachineHealthIssue{
		Category: bmm.IssueOther, Details: cut(details, maxDetails),
		Summary: cut(cmp.Or(h.Found, "reported with the annotation "+infrav1.HealthIssueAnnotation), maxSummary),
	}
	switch known := bmm.MachineHealthIssueCategory(category); known {
	case bmm.IssueHardware, bmm.IssueNetwork, bmm.IssuePerformance:
		issue.Category = known
	}
	return issue, nil
}

// alert is what the BMM API shows to be wrong with the machine itself; empty if it shows nothing. No deletion waits for an
// answer: without one nothing is known.
func (i *Instance) alert(ctx context.Context) string {
	if i.got == nil || i.got.MachineID == "" {
		return ""
	}
	machine, err := i.api.Machine(ctx, i.SiteID(), i.got.MachineID)
	if err != nil {
		return ""
	}
	for _, alert := range machine.Health.Alerts {
		if text := cmp.Or(alert.TenantMessage, alert.Message, alert.ID); text != "" {
			return text
		}
	}
	return ""
}

func cut(text string, characters int) string {
	all := []rune(text)
	return string(all[:min(len(all), characters)])
}
