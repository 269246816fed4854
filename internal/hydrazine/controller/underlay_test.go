package controller

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
)

// hosts are all objects that there are.
type hosts struct {
	client.Client
	all []resourcev1.ManagedResource
}

func (h *hosts) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if list, ok := list.(*resourcev1.ManagedResourceList); ok {
		list.Items = h.all
	}
	return nil
}

func (h *hosts) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func hostOf(dpu resourcev1.IPAddress) resourcev1.ManagedResource {
	return resourcev1.ManagedResource{Status: resourcev1.ManagedResourceStatus{DPUAddresses: []resourcev1.IPAddress{dpu}}}
}

// The address of a DPU that has gone is kept from hosts for a while, and no longer. That of a new one is at once.
func TestUnderlays_forgetSlowly(t *testing.T) {
	t.Parallel()
	g, now := NewWithT(t), time.Now()
	there := &hosts{all: []resourcev1.ManagedResource{hostOf("172.18.0.5")}}
	u := &underlays{Reader: there, now: func() time.Time { return now }}
	known := func() string {
		all, err := u.all(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		return fmt.Sprint(all)
	}
	g.Expect(known()).To(Equal("[172.18.0.5]"))
	there.all = nil
	now = now.Add(underlayAge - time.Second)
	g.Expect(known()).To(Equal("[172.18.0.5]"))
	now = now.Add(time.Second)
	g.Expect(known()).To(Equal("[]"))
	there.all = []resourcev1.ManagedResource{hostOf("172.18.0.6")}
	u.changed.Store(true)
	g.Expect(known()).To(Equal("[172.18.0.6]"))
}

// A group knows its own hosts' DPUs at once, also before it was notified of a new one.
func TestGroup_knowsItsOwnDPUs(t *testing.T) {
	t.Parallel()
	g, now := NewWithT(t), time.Now
	r := &groupReconciler{
		Client: &hosts{}, underlays: &underlays{now: now, looked: now()}, control: &controlPlane{now: now, looked: now()},
	}
	group := &resourcev1.ResourceGroup{
		ObjectMeta: metav1.ObjectMeta{UID: "6f1d0a4e-4f3a-4d1c-9d6c-0c8a3c0f7e11", Name: "blue"},
		Spec:       resourcev1.ResourceGroupSpec{Network: &resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24}},
	}
	in, outside, err := r.surroundings(t.Context(), group, []resourcev1.ManagedResource{hostOf("172.18.0.5")})
	g.Expect(err).NotTo(HaveOccurred())
	all, err := overlay.Topology(group, in, outside)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all.Site.Underlay).To(ConsistOf(netip.MustParseAddr("172.18.0.5")))
}
