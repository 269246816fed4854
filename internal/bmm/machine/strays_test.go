package machine_test

import (
	"context"
	"maps"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/simulator"
)

func pause(f *bmmtest.Fixture, object *infrav1.NvidiaBMMMachine) {
	bmmtest.Change(f, object, func(m *infrav1.NvidiaBMMMachine) {
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		m.Annotations[clusterv1.PausedAnnotation] = ""
	})
	f.UntilTrue(object, clusterv1.PausedCondition)
}

func unpause(f *bmmtest.Fixture, object *infrav1.NvidiaBMMMachine) {
	bmmtest.Change(f, object, func(m *infrav1.NvidiaBMMMachine) { delete(m.Annotations, clusterv1.PausedAnnotation) })
}

// As TestDelete_ofWhatIsAnothersByNow, for what a sweep has put into the ledger (graph/remove.go, noteStrays: "its tag has lost its key").
func TestDelete_ofAStrayThatIsAnothersByNow(t *testing.T) {
	t.Parallel()
	f := bmmtest.StartPaced(t, 4*time.Second, bmmtest.Settle)
	f.UntilReady(f.CreateCluster("demo"))
	object := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(object)
	id := object.Status.InstanceID
	pause(f, object)
	l := f.Ledger(object)
	for i := range l.Spec.Entries {
		if l.Spec.Entries[i].ID == id {
			l.Spec.Entries[i].Key = "stray/" + id
		}
	}
	f.Expect(f.Client.Update(t.Context(), l)).To(Succeed())
	f.Delete(object)
	lists := f.Called("listInstances")
	f.Eventually(func() int { return f.Called("listInstances") }, time.Minute).Should(BeNumerically(">", lists+1))
	labels := maps.Clone(f.Sim.State().Instances[0].Labels)
	labels[tag.LabelOwner] = "0123456789ab"
	_, err := f.API().UpdateInstance(t.Context(), sim.DefaultSiteID, id, bmm.InstanceUpdateRequest{Labels: &labels})
	f.Expect(err).NotTo(HaveOccurred())
	unpause(f, object)
	f.Eventually(func() string { return f.Message(object, "Ready") }, time.Minute).Should(ContainSubstring("carries the tag of another object"))
	f.Expect(f.Called("deleteInstance")).To(BeZero())
}

// The answer to the create was lost, and the instance was renamed since: it carries our label all the same.
func TestDelete_ofARenamedInstanceWhoseCreateHadNoAnswer(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo"))
	f.Fault(simulator.Fault{Operation: "createInstance", Kind: simulator.FaultLoseAnswer})
	heal := f.Refuse(503, "listInstances")
	object := f.CreateMachine("demo", "worker-1", userData)
	f.Eventually(func() []bmm.Instance { return f.Sim.State().Instances }, time.Minute).Should(HaveLen(1))
	made := f.Sim.State().Instances[0]
	_, err := f.API().UpdateInstance(t.Context(), sim.DefaultSiteID, made.ID, bmm.InstanceUpdateRequest{Name: "renamed"})
	f.Expect(err).NotTo(HaveOccurred())
	owner := f.OwnerID(object)
	f.Expect(made.Labels).To(HaveKeyWithValue(tag.LabelOwner, owner))
	f.Delete(object)
	heal()
	f.UntilGone(object)
	f.Expect(f.Called("createInstance")).To(Equal(1))
	f.Expect(f.Sim.State().Instances).To(BeEmpty())
}

// An older ledger lacks an instance whose name is another one by now, so that no list by name shows it. The list that all machines share does.
func TestDelete_ofAStrayWithAnotherName(t *testing.T) {
	t.Parallel()
	f := bmmtest.StartPaced(t, 4*time.Second, bmmtest.Settle, func(w *sim.Config) {
		w.Times.InstanceDelete.Duration = 3 * time.Second * time.Duration(w.Speed) // so that a list begins after the machine is deleted
	})
	all := machines(f, 2)
	object, other := all[0], all[1]
	pause(f, other)
	for _, i := range f.Sim.State().Instances {
		if i.ID == other.Status.InstanceID {
			giveTo(f, object, i)
		}
	}
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Instances).To(BeEmpty())
}

// As TestDelete_ofAStrayWithAnotherName, where the ledger has nothing else: the machine is gone before the site is listed again.
func TestDelete_atOnceOfAStrayWithAnotherName(t *testing.T) {
	t.Parallel()
	f := bmmtest.StartPaced(t, 12*time.Second, bmmtest.Settle)
	f.SetDefaultEventuallyTimeout(2 * time.Minute)
	pause(f, machines(f, 1)[0])
	f.Fault(simulator.Fault{Operation: "createInstance", Kind: simulator.FaultStatus, Status: http.StatusForbidden, Times: -1, Message: "maximum number"})
	object := f.CreateMachine("demo", "another", userData)
	f.UntilReason(object, infrav1.InstanceProvisionedCondition, "Quota", "")
	giveTo(f, object, f.Sim.State().Instances[0])
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Instances).To(BeEmpty())
}

// giveTo labels an instance as an owner's.
func giveTo(f *bmmtest.Fixture, owner *infrav1.NvidiaBMMMachine, i bmm.Instance) {
	labels := maps.Clone(i.Labels)
	labels[tag.LabelOwner] = f.OwnerID(owner)
	_, err := f.API().UpdateInstance(context.Background(), sim.DefaultSiteID, i.ID, bmm.InstanceUpdateRequest{Labels: &labels})
	f.Expect(err).NotTo(HaveOccurred())
}
