package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// knowSites teaches the API server the kind of NVIDIA's site manager.
func knowSites(t *testing.T, f *bmmtest.Fixture) {
	t.Helper()
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "sites.forge.nvidia.io"},
		"spec": map[string]any{
			"group": "forge.nvidia.io", "scope": "Namespaced",
			"names": map[string]any{"kind": "Site", "listKind": "SiteList", "plural": "sites", "singular": "site"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}}
	if err := f.Client.Create(t.Context(), definition); !apierrors.IsAlreadyExists(err) {
		f.Expect(err).NotTo(HaveOccurred())
	}
	f.Eventually(func(g Gomega) { // what is new to the API server is known to it a little later
		g.Expect(f.Read(definition)).To(Succeed())
		conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
		g.Expect(conditions).To(ContainElement(And(HaveKeyWithValue("type", "Established"), HaveKeyWithValue("status", "True"))))
	}).Should(Succeed())
}

func siteObject(f *bmmtest.Fixture, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "forge.nvidia.io/v1", "kind": "Site",
		"metadata": map[string]any{"name": name, "namespace": f.Namespace},
		"spec":     spec,
	}}
}

func TestSite_isThatOfASiteObjectOfItsName(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, neighbours)
	knowSites(t, f)
	site := siteObject(f, "boston", map[string]any{"sitename": "boston"})
	f.Eventually(func() error { return f.Client.Create(t.Context(), site) }).Should(Succeed())
	object := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) { c.Spec.SiteRef = infrav1.SiteReference{Name: "boston"} })
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Invalid", "object Site boston has no spec.uuid: name the site by its ID in spec.siteRef.id")
	bmmtest.Change(f, site, func(s *unstructured.Unstructured) {
		f.Expect(unstructured.SetNestedField(s.Object, sim.DefaultSiteID, "spec", "uuid")).To(Succeed())
	})
	f.UntilReady(object)
	f.Expect(object.Status.SiteID).To(Equal(sim.DefaultSiteID), "the BMM API knows none of that name")

	f.Create(siteObject(f, "site-2", map[string]any{"uuid": sim.DefaultSiteID}))
	second := f.CreateCluster("second", func(c *infrav1.NvidiaBMMCluster) { c.Spec.SiteRef = infrav1.SiteReference{Name: "site-2"} })
	f.UntilReady(second)
	f.Expect(second.Status.SiteID).To(Equal(sim.DefaultSiteID), "the object comes before the BMM API's own site of that name")

	plain := f.CreateCluster("plain")
	f.UntilReady(plain)
	f.Expect(plain.Status.SiteID).To(Equal(sim.DefaultSiteID), "there is no object of the name")
}

func TestSite_thatIsDownIsWaitedFor(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.Expect(f.Sim.SetSite(sim.DefaultSiteID, sim.SiteOffline)).To(Succeed())
	object := f.CreateCluster("demo")
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "SiteNotRegistered", "site site-1 is Error")
	f.UntilReason(object, infrav1.VPCReadyCondition, "Waiting", "waits for site")
	f.Expect(f.Called("createVpc")).To(BeZero())
	f.Expect(f.Sim.SetSite(sim.DefaultSiteID, sim.SiteOnline)).To(Succeed())
	f.UntilReady(object)
}

// Cluster API's contract: a list of names, whether control planes may be placed there, and informative attributes.
func TestFailureDomains_areTold(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.Subnets = append(c.Spec.Subnets, infrav1.SubnetSpec{Name: "rack-2", PrefixLength: ptr.To[int32](25)})
		c.Spec.FailureDomains = []infrav1.FailureDomainSpec{
			{Name: "one", ControlPlane: ptr.To(true), SubnetName: "nodes"},
			{Name: "two", SubnetName: "rack-2", InstanceTypeID: sim.DefaultInstanceTypeID},
		}
	})
	f.UntilReady(object)
	f.Expect(object.Status.FailureDomains).To(Equal([]clusterv1.FailureDomain{
		{Name: "one", ControlPlane: ptr.To(true), Attributes: map[string]string{"subnetName": "nodes"}},
		{Name: "two", Attributes: map[string]string{"subnetName": "rack-2", "instanceTypeID": sim.DefaultInstanceTypeID}},
	}))
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.FailureDomains = nil })
	f.Eventually(func() []clusterv1.FailureDomain { _ = f.Read(object); return object.Status.FailureDomains }).Should(BeEmpty())
}
