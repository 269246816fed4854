package webhook

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// victim is a host that runs in a group.
func victim() *resourcev1.ManagedResource {
	return &resourcev1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "blue", Name: "victim", UID: "victim", CreationTimestamp: metav1.NewTime(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)),
		},
		Spec: resourcev1.ManagedResourceSpec{
			ResourceGroup: "web", HostIP: "10.10.10.2", HostMAC: "02:00:0a:0a:0a:02",
			DPUIPs: []resourcev1.IPAddress{"172.18.0.5", "172.18.0.105"},
		},
	}
}

// older is one of another tenant, without anything of the victim's.
func older() *resourcev1.ManagedResource {
	r := victim()
	r.Namespace, r.Name, r.UID = "red", "older", "older"
	r.CreationTimestamp = metav1.NewTime(r.CreationTimestamp.Add(-time.Hour))
	r.Spec.DPUIPs = []resourcev1.IPAddress{"172.18.0.7", "172.18.0.107"}
	return r
}

func web(namespace string) *resourcev1.ResourceGroup {
	return &resourcev1.ResourceGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", UID: types.UID(namespace)},
		Spec:       resourcev1.ResourceGroupSpec{Network: &resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24}},
	}
}

// among these objects, found as in the controllers' cache.
func among(t *testing.T, objects ...client.Object) validator {
	t.Helper()
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(resourcev1.AddToScheme(scheme)).To(Succeed())
	return validator{fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&resourcev1.ManagedResource{}, "spec.resourceGroup", func(o client.Object) []string {
			return []string{o.(*resourcev1.ManagedResource).Spec.ResourceGroup}
		}).
		WithIndex(&resourcev1.ManagedResource{}, "spec.dpuIPs", func(o client.Object) (ips []string) {
			for _, ip := range o.(*resourcev1.ManagedResource).Spec.DPUIPs {
				ips = append(ips, string(ip))
			}
			return ips
		}).Build()}
}

// Whoever is older by creation must not get what another one has by asking for it later.
func TestValidateUpdate_keepsWhoWasThereFirst(t *testing.T) {
	t.Parallel()
	const taken = "belongs to a ManagedResource of another namespace"
	for name, c := range map[string]struct {
		before func(*resourcev1.ManagedResource)
		change func(*resourcev1.ManagedResourceSpec)
		says   string
	}{
		"nothing":           {change: func(*resourcev1.ManagedResourceSpec) {}},
		"an address":        {change: func(s *resourcev1.ManagedResourceSpec) { s.DPUIPs[1] = "172.18.0.105" }, says: taken},
		"with no group":     {change: func(s *resourcev1.ManagedResourceSpec) { s.ResourceGroup, s.DPUIPs[1] = "none", "172.18.0.105" }, says: taken},
		"a DPU, no group":   {change: func(s *resourcev1.ManagedResourceSpec) { s.ResourceGroup, s.DPUIPs[0] = "none", "172.18.0.5" }, says: "serves another ResourceGroup"},
		"only another name": {change: func(s *resourcev1.ManagedResourceSpec) { s.ResourceGroup = "none" }},
		"while it goes":     {deleting, func(s *resourcev1.ManagedResourceSpec) { s.DPUIPs[1] = "172.18.0.105" }, taken},
		"it goes":           {before: deleting, change: func(*resourcev1.ManagedResourceSpec) {}},
		"it has what is taken": {
			before: func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = "172.18.0.105" },
			change: func(*resourcev1.ManagedResourceSpec) {},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := older()
			if c.before != nil {
				c.before(before)
			}
			after := before.DeepCopy()
			c.change(&after.Spec)
			_, err := among(t, victim(), web("blue"), web("red"), before).ValidateUpdate(t.Context(), before, after)
			if c.says == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
			} else {
				NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.says)))
			}
		})
	}
}

func deleting(r *resourcev1.ManagedResource) {
	r.DeletionTimestamp, r.Finalizers = &r.CreationTimestamp, []string{resourcev1.ManagedResourceFinalizer}
}

func TestValidateCreate_ofAGroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		network resourcev1.IPNet
		says    string
	}{
		"first":            {network: resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24}},
		"last":             {network: resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24, Gateway: "10.10.10.254"}},
		"no network":       {resourcev1.IPNet{IP: "10.10.10.1", PrefixLength: 24}, "is not a network"},
		"outside":          {resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24, Gateway: "10.10.11.1"}, "is not in"},
		"own address":      {resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24, Gateway: "10.10.10.0"}, "10.10.10.0 can't be the gateway"},
		"broadcast":        {resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24, Gateway: "10.10.10.255"}, "10.10.10.255 can't be the gateway"},
		"IPv6 own address": {resourcev1.IPNet{IP: "fd00::", PrefixLength: 64, Gateway: "fd00::"}, "fd00:: can't be the gateway"},
		"IPv6 last":        {network: resourcev1.IPNet{IP: "fd00::", PrefixLength: 120, Gateway: "fd00::ff"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := web("blue")
			g.Spec.Network = &c.network
			_, err := groupValidator{}.ValidateCreate(t.Context(), g)
			if c.says == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
			} else {
				NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.says)))
			}
		})
	}
}
