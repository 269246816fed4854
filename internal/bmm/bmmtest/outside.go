package bmmtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/httpclient"
)

// API is the user's own access to the site: its changes are outside the provider.
func (f *Fixture) API() *bmm.Client {
	f.t.Helper()
	api, err := bmm.New(bmm.Config{Endpoint: f.Endpoint, Org: sim.DefaultOrg, Token: sim.DefaultToken, Limits: httpclient.Limits{Egress: egress.Policy{Loopback: true}}})
	f.Expect(err).NotTo(HaveOccurred())
	return api
}

// Make makes something at the site that isn't the provider's. It is ready at once.
func (f *Fixture) Make(o sim.Object) (id string) {
	f.t.Helper()
	id, err := f.Sim.Make(o)
	f.Expect(err).NotTo(HaveOccurred())
	return id
}

// MakeVPC makes a VPC of the user's own.
func (f *Fixture) MakeVPC(name string, kind bmm.NetworkVirtualizationType) (id string) {
	f.t.Helper()
	return f.Make(sim.Object{Kind: sim.KindVPC, Request: bmm.VPCCreateRequest{
		Name: name, SiteID: sim.DefaultSiteID, NetworkVirtualizationType: kind,
	}})
}

// MakeGroup makes a network security group of the user's own.
func (f *Fixture) MakeGroup(name string) (id string) {
	f.t.Helper()
	return f.Make(sim.Object{Kind: sim.KindNetworkSecurityGroup, Request: bmm.NetworkSecurityGroupCreateRequest{
		Name: name, SiteID: sim.DefaultSiteID,
	}})
}

// Snapshot is everything that exists at the site and has one of the IDs, as text. Only what others attach to a group doesn't
// show.
func (f *Fixture) Snapshot(ids ...string) string {
	f.t.Helper()
	state := f.Sim.State()
	for i := range state.NetworkSecurityGroups {
		state.NetworkSecurityGroups[i].AttachmentStats = bmm.NetworkSecurityGroup{}.AttachmentStats
	}
	data, err := json.Marshal(state)
	f.Expect(err).NotTo(HaveOccurred())
	var kinds map[string]json.RawMessage
	f.Expect(json.Unmarshal(data, &kinds)).To(Succeed())
	var found []string
	for _, kind := range []string{"ipBlocks", "allocations", "networkSecurityGroups", "vpcs", "subnets", "vpcPrefixes", "vpcPeerings", "instances"} {
		var objects []map[string]any
		f.Expect(json.Unmarshal(kinds[kind], &objects)).To(Succeed())
		for _, o := range objects {
			if slices.Contains(ids, fmt.Sprint(o["id"])) {
				text, _ := json.Marshal(o) // it was JSON already
				found = append(found, kind+" "+string(text))
			}
		}
	}
	return strings.Join(found, "\n")
}

// Events of an object with a reason, in no order: "TYPE NOTE".
func (f *Fixture) Events(object client.Object, reason string) (notes []string) {
	f.t.Helper()
	events := &eventsv1.EventList{}
	f.Expect(f.Client.List(f.t.Context(), events, client.InNamespace(f.Namespace))).To(Succeed())
	for _, e := range events.Items {
		if e.Regarding.Name == object.GetName() && e.Reason == reason {
			notes = append(notes, e.Type+" "+e.Note)
		}
	}
	return notes
}

// Watch returns the events of the objects of a kind, until the test ends.
func (f *Fixture) Watch(lists ...client.ObjectList) <-chan watch.Event {
	f.t.Helper()
	all := make(chan watch.Event)
	for _, list := range lists {
		w, err := f.Client.Watch(f.t.Context(), list, client.InNamespace(f.Namespace))
		f.Expect(err).NotTo(HaveOccurred())
		f.t.Cleanup(w.Stop)
		go func() {
			for event := range w.ResultChan() {
				select {
				case all <- event:
				case <-f.t.Context().Done():
					return
				}
			}
		}()
	}
	return all
}

// Message of a condition that isn't true; empty if it is, or isn't there.
func (f *Fixture) Message(object graph.Owner, condition string) string {
	if err := f.Read(object); err != nil {
		return err.Error()
	}
	c := meta.FindStatusCondition(object.GetConditions(), condition)
	if c == nil || c.Status == metav1.ConditionTrue {
		return ""
	}
	return c.Message
}

// OwnerID is what everything that was made for an object carries outside; empty before something was attempted.
func (f *Fixture) OwnerID(object client.Object) string {
	f.t.Helper()
	l := f.Ledger(object)
	if l == nil {
		return ""
	}
	return l.Spec.OwnerID
}

// LoseLedger deletes the ledger of an object by force, and returns it as it was.
func (f *Fixture) LoseLedger(object client.Object) *ledgerv1.Ledger {
	f.t.Helper()
	lost := f.Ledger(object)
	f.Expect(lost).NotTo(BeNil())
	f.Delete(lost.DeepCopy())
	f.Strip(lost.DeepCopy())
	f.UntilGone(lost.DeepCopy())
	return lost
}

// Strip removes all finalizers of an object, as impatient users do.
func (f *Fixture) Strip(object client.Object) {
	f.t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	f.Expect(client.IgnoreNotFound(f.Client.Patch(f.t.Context(), object, patch))).To(Succeed())
}

// Restore an object from a backup, with its status and its references.
func (f *Fixture) Restore(object client.Object) {
	f.t.Helper()
	restored := object.DeepCopyObject().(client.Object)
	restored.SetResourceVersion("")
	restored.SetUID("")
	f.Create(restored)
}

// UntilInEffect waits until the ledger of a cluster says that its group was seen on instances, which an inventory shows some
// time after they exist.
func (f *Fixture) UntilInEffect(cluster client.Object) {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.Ledger(cluster)).To(HaveField("Spec.Entries", ContainElement(HaveField("InEffect", true))))
	}).Should(Succeed())
}

// UntilNotReady waits until the condition Ready isn't true any more.
func (f *Fixture) UntilNotReady(object graph.Owner) {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(object)).To(Succeed())
		g.Expect(meta.IsStatusConditionTrue(object.GetConditions(), "Ready")).To(BeFalse())
	}).Should(Succeed())
}
