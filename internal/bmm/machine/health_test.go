package machine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// A report takes the host out of the site's pool. A Node may as well be unhealthy because of a bad image, on all hosts at once, so
// the user or the BMM API has to confirm it.
func TestHealth_theSiteHearsOfAMachineThatIsIllForSure(t *testing.T) {
	t.Parallel()
	failed := func(reason, message string) []metav1.Condition {
		return []metav1.Condition{{
			Type: clusterv1.MachineHealthCheckSucceededCondition, Status: metav1.ConditionFalse, Reason: reason, Message: message,
			LastTransitionTime: metav1.Now(),
		}}
	}
	long := strings.Repeat("Node condition Ready is Unknown. ü ", 100)
	for _, row := range []struct {
		name, annotation string
		conditions       []metav1.Condition
		alert            string
		want             *bmm.MachineHealthIssue
	}{
		{"a MachineHealthCheck", "", failed("UnhealthyNode", "Condition Ready on Node is Unknown"), "", nil},
		{"a MachineHealthCheck, and the BMM API", "", failed("UnhealthyNode", "Condition Ready on Node is Unknown"), "a fan is dead",
			&bmm.MachineHealthIssue{
				Category: bmm.IssueOther, Summary: "MachineHealthCheck failed: UnhealthyNode",
				Details: "BMM says: a fan is dead\nCondition Ready on Node is Unknown",
			}},
		{"the BMM API, of a machine that goes for another reason", "", nil, "a fan is dead", nil},
		{"a MachineHealthCheck, and a person who knows more", "Hardware", failed("UnhealthyNode", "no"), "", &bmm.MachineHealthIssue{
			Category: bmm.IssueHardware, Summary: "MachineHealthCheck failed: UnhealthyNode", Details: "no",
		}},
		{"a person", "Network", nil, "", &bmm.MachineHealthIssue{
			Category: bmm.IssueNetwork, Summary: "reported with the annotation bedplate.dev/machine-health-issue",
		}},
		{"a person, in words that the API doesn't have", "burnt", nil, "", &bmm.MachineHealthIssue{
			Category: bmm.IssueOther, Summary: "reported with the annotation bedplate.dev/machine-health-issue",
		}},
		{"a MachineHealthCheck with a lot to say", "Other", failed("UnhealthyNode", long), "", &bmm.MachineHealthIssue{
			Category: bmm.IssueOther, Summary: "MachineHealthCheck failed: UnhealthyNode", Details: "cut",
		}},
		{"nothing", "", nil, "", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t)
			f.UntilReady(f.CreateCluster("demo"))
			object := f.CreateMachine("demo", "worker-1", userData)
			f.UntilReady(object)
			if row.alert != "" {
				f.Expect(f.Sim.SetStatus(sim.Status{ID: object.Status.MachineID, Status: "Maintenance", Message: row.alert})).To(Succeed())
			}
			if row.annotation != "" {
				bmmtest.Change(f, object, func(m *infrav1.NvidiaBMMMachine) {
					metav1.SetMetaDataAnnotation(&m.ObjectMeta, infrav1.HealthIssueAnnotation, row.annotation)
				})
			}
			if row.conditions != nil {
				owner := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "worker-1", Namespace: f.Namespace}}
				f.Expect(f.Read(owner)).To(Succeed())
				owner.Status.Conditions = row.conditions
				f.Expect(f.Client.Status().Update(t.Context(), owner)).To(Succeed())
				bmmtest.Change(f, owner, func(m *clusterv1.Machine) { m.Spec.FailureDomain = "after" })
				f.Eventually(func() string { _ = f.Read(object); return object.Status.FailureDomain }).Should(Equal("after"), "seen by the provider")
			}
			f.Delete(object)
			f.UntilGone(object)
			releases := f.Sim.State().Releases
			f.Expect(releases).To(HaveLen(1))
			got := releases[0].MachineHealthIssue
			if row.want != nil && row.want.Details == "cut" {
				f.Expect(long).To(HavePrefix(got.Details))
				f.Expect(len([]rune(got.Details))).To(And(BeNumerically("<=", 1024), BeNumerically(">", 900)))
				got.Details = row.want.Details
			}
			f.Expect(got).To(Equal(row.want))
		})
	}
}

// A cluster can't empty a site's pool, whatever annotates its machines.
func TestHealth_theSiteHearsOfAFewMachinesOnly(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo"))
	var all []*infrav1.NvidiaBMMMachine
	for n := range 5 {
		all = append(all, f.CreateMachine("demo", fmt.Sprint("worker-", n), userData, func(m *infrav1.NvidiaBMMMachine) {
			metav1.SetMetaDataAnnotation(&m.ObjectMeta, infrav1.HealthIssueAnnotation, "Hardware")
		}))
	}
	for _, object := range all {
		f.UntilReady(object)
	}
	untold := 0
	for _, object := range all {
		f.Delete(object)
		f.UntilGone(object)
		told := slices.ContainsFunc(f.Sim.State().Releases, func(r sim.Release) bool {
			return r.InstanceID == object.Status.InstanceID && r.MachineHealthIssue != nil
		})
		if told {
			continue
		}
		untold++
		f.Eventually(func() []string { return f.Events(object, "NotReported") }).Should(ContainElement(
			ContainSubstring("the unhealthy machine of instance " + object.Status.InstanceID + " isn't reported")))
	}
	f.Expect(untold).To(Equal(2))
	f.Expect(f.Sim.State().Releases).To(HaveLen(5), "all are deleted")
}

// A machine that the site repairs, reboots or updates comes back as the same: it didn't fail, and needs no other.
func TestHealth_repairingIsNotFailing(t *testing.T) {
	t.Parallel()
	for _, status := range []bmm.InstanceStatus{bmm.InstanceRepairing, bmm.InstanceRebooting, bmm.InstanceUpdating, bmm.InstanceConfiguring, bmm.InstanceUnknown} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t)
			f.UntilReady(f.CreateCluster("demo"))
			object := f.CreateMachine("demo", "worker-1", userData)
			f.UntilProvisioned(object)
			before := object.DeepCopy()
			reason := string(status)
			if status == bmm.InstanceConfiguring || status == bmm.InstanceUnknown {
				reason = "Waiting"
			}
			f.Expect(f.Sim.SetStatus(sim.Status{ID: object.Status.InstanceID, Status: string(status)})).To(Succeed())
			f.UntilReason(object, infrav1.InstanceProvisionedCondition, reason, "instance "+object.Status.InstanceID+" is "+string(status))
			f.UntilReason(object, "Ready", reason, "")
			f.Expect(object.Status.InstanceState).To(Equal(string(status)))
			f.Expect(object.Status.Initialization.Provisioned).To(HaveValue(BeTrue()), "once true it stays")
			f.Expect(object.Spec.ProviderID).To(Equal(before.Spec.ProviderID))
			f.Expect(f.Sim.SetStatus(sim.Status{ID: object.Status.InstanceID})).To(Succeed())
			f.UntilReady(object)
			f.Expect(f.Called("createInstance")).To(Equal(1))
			f.Expect(f.Called("deleteInstance")).To(BeZero())
			f.Eventually(func() []string { return f.Events(object, reason) }).Should(
				And(ContainElement(ContainSubstring(string(status))), HaveEach(HavePrefix("Normal "))), "there is no warning")
		})
	}
}

func TestHealth_anInstanceInErrorIsReportedAndKept(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo"))
	object := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(object)
	f.Expect(f.Sim.SetStatus(sim.Status{ID: object.Status.InstanceID, Status: "Error"})).To(Succeed())
	f.UntilReason(object, infrav1.InstanceProvisionedCondition, "Failed",
		"the BMM API reports instance "+object.Status.InstanceID+" as Error: ask the site's operator, or delete the Machine to get another one")
	f.Expect(f.Called("createInstance")).To(Equal(1))
	f.Expect(f.Called("deleteInstance")).To(BeZero())
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Instances).To(BeEmpty())
}
