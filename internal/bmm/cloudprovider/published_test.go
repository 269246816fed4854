package cloudprovider

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	cloudproviderapi "k8s.io/cloud-provider"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest/cloudtest"
	"github.com/bedplate/bedplate/internal/bmm/providerid"
	"github.com/bedplate/bedplate/internal/bmm/publication"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// startPublished is start for a cluster that has no login: its instances are what is published in it. The site is not.
func startPublished(t *testing.T) *fixture {
	t.Helper()
	return start(t, world(0), func(c *Config) { *c = Config{Published: true, Timeout: c.Timeout} })
}

// instance of this test's, as it is published. Others have the same namespace.
func (f *fixture) instance(n int) publication.Instance {
	return publication.Instance{
		ID:     fmt.Sprintf("b4000000-0000-4000-8000-%s%06d", strings.Repeat("0", 7-len(f.prefix))+f.prefix[1:], n),
		SiteID: sim.DefaultSiteID, Name: f.name(n), Status: "Ready", InstanceType: "gpu.large", MachineID: "fm100" + f.prefix,
		NVLinkDomain: "domain-7", Addresses: []string{cloudtest.Address(n)}, Seen: metav1.Now(),
	}
}

func (f *fixture) publish(what interface {
	ConfigMap() (*corev1.ConfigMap, error)
}, change ...func(*corev1.ConfigMap)) {
	f.t.Helper()
	f.publishNamespace()
	wanted, err := what.ConfigMap()
	f.Expect(err).NotTo(HaveOccurred())
	for _, c := range change {
		c(wanted)
	}
	configMaps := f.kubernetes.CoreV1().ConfigMaps(publication.Namespace)
	_, err = configMaps.Create(f.t.Context(), wanted, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = configMaps.Update(f.t.Context(), wanted, metav1.UpdateOptions{})
	}
	f.Expect(err).NotTo(HaveOccurred())
}

func (f *fixture) publishNamespace() {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: publication.Namespace}}
	_, err := f.kubernetes.CoreV1().Namespaces().Create(f.t.Context(), namespace, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		f.Expect(err).NotTo(HaveOccurred())
	}
}

// theSite is the same for all tests.
func theSite() publication.Site {
	return publication.Site{ID: sim.DefaultSiteID, Zone: "site-1", Region: "zurich", Complete: metav1.Now()}
}

func providerIDOfInstance(i publication.Instance) string {
	return providerid.ProviderID{SiteID: i.SiteID, InstanceID: i.ID}.String()
}

// The Node exists long before the entry: upstream retries it with backoff.
func TestPublished_aNodeIsInitializedAsSoonAsItsInstanceIsKnown(t *testing.T) {
	t.Parallel()
	f := startPublished(t)
	f.cloud.config.AdditionalLabels = true
	f.publish(theSite())
	f.register(f.name(0))
	f.untilAsked(f.asked.incomplete, 10, f.name(0)) // the next retry is in 5 s, and then 10 s
	f.publish(f.instance(0))
	published := time.Now()
	node := f.untilInitialized(f.name(0), providerIDOfInstance(f.instance(0)))
	t.Logf("initialised %s after it was published", time.Since(published).Round(time.Millisecond))
	f.Expect(node.Annotations).To(HaveKey(annotationKnown), "it was looked at because of the entry")
	f.Expect(node.Labels).To(And(
		HaveKeyWithValue(corev1.LabelTopologyZone, "site-1"), HaveKeyWithValue(corev1.LabelTopologyRegion, "zurich"),
		HaveKeyWithValue(corev1.LabelInstanceTypeStable, "gpu.large"),
		HaveKeyWithValue(LabelMachine, "fm100"+f.prefix), HaveKeyWithValue(LabelNVLinkDomain, "domain-7")))
	f.Eventually(func() []corev1.NodeAddress { return f.node(f.name(0)).Status.Addresses }).Should(ContainElement(
		corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: cloudtest.Address(0)}))
	f.Expect(f.site.Calls()).To(BeEmpty(), "it has no login, and makes no call")
}

// Nodes that aren't Ready, of which the real lifecycle controller asks all the time.
func TestPublished_aNodeGoesOnlyWithATombstone(t *testing.T) {
	t.Parallel()
	f := startPublished(t)
	f.publish(theSite())
	const old, absent, removed, damaged, terminating, gone = 0, 1, 2, 3, 4, 5
	var names []string
	for n := range 6 {
		names = append(names, f.name(n))
		i := f.instance(n)
		switch n {
		case old:
			i.Seen = metav1.NewTime(time.Now().Add(-365 * 24 * time.Hour))
		case terminating:
			i.Status = "Terminating"
		}
		if n != absent {
			f.publish(i)
		}
		f.register(f.name(n), cloudtest.Initialized, cloudtest.NotReady, cloudtest.WithProviderID(providerIDOfInstance(i)))
	}
	f.untilAsked(f.asked.yes, 3, names[old], names[terminating])
	f.Expect(f.kubernetes.CoreV1().ConfigMaps(publication.Namespace).Delete(t.Context(), f.instance(removed).ID, metav1.DeleteOptions{})).To(Succeed())
	f.publish(f.instance(damaged), func(c *corev1.ConfigMap) { c.Data["instance"] = `{"gone":true}` })
	f.untilAsked(f.asked.unknown, 20, names[absent], names[removed], names[damaged])
	f.Expect(f.nodes()).To(ConsistOf(names))
	f.Expect(f.events.of(names[absent])).To(Equal([]string{ReasonUnknown}))

	tombstone := publication.Instance{ID: f.instance(gone).ID, SiteID: sim.DefaultSiteID, Gone: true, Seen: metav1.Now()}
	f.publish(tombstone)
	f.Eventually(f.nodes).Should(ConsistOf(names[:gone]))
	f.untilAsked(f.asked.unknown, 5, names[absent], names[removed], names[damaged])
	f.Expect(f.asked.count(f.asked.no)).To(HaveLen(1))
	f.Expect(f.events.of(names[gone])).To(ContainElement(ReasonNotFound))
	f.Expect(f.site.Calls()).To(BeEmpty())
}

// The address of a Node may have been another instance's when that was published.
func TestPublished_anAddressCountsOnceAllInstancesArePublishedAnew(t *testing.T) {
	t.Parallel()
	f := startPublished(t)
	i := f.instance(0)
	i.Addresses = []string{"10.77." + strings.TrimPrefix(f.prefix, "n") + ".1"}
	f.publish(i)
	site := theSite()
	site.Complete = metav1.Time{}
	view := func(s publication.Site) *publishedSite {
		f.publishNamespace()
		f.Eventually(func() error { _, err := f.cloud.source.(*published).configMaps.Get(i.ID); return err }).Should(Succeed())
		return &publishedSite{f.cloud.source.(*published), s}
	}
	node := cloudtest.Node(f.prefix+"-other", internalIP(i.Addresses[0]))
	node.CreationTimestamp = metav1.Now()
	f.Expect(f.cloud.search(t.Context(), view(site), node)).To(BeNil())
	site.Complete = metav1.NewTime(time.Now().Add(-time.Minute))
	f.Expect(f.cloud.search(t.Context(), view(site), node)).To(BeNil())
	site.Complete = metav1.NewTime(time.Now().Add(time.Minute))
	f.Expect(f.cloud.search(t.Context(), view(site), node)).To(HaveField("ID", i.ID))
}

// fakeBuilder gives out a client of a cluster in memory.
type fakeBuilder struct {
	cloudproviderapi.ControllerClientBuilder
	client kubernetes.Interface
}

// ClientOrDie implements cloudprovider.ControllerClientBuilder.
func (b fakeBuilder) ClientOrDie(string) kubernetes.Interface { return b.client }

// When a thousand machines join at once, a search for one of them must not read what is published of all the others.
func TestPublished_aSearchCostsTheSameHoweverManyInstancesThereAre(t *testing.T) { //nolint:paralleltest // it counts allocations
	g := NewWithT(t)
	allocations := func(instances int) float64 {
		objects := []runtime.Object{mustConfigMap(g, publication.Site{ID: sim.DefaultSiteID, Complete: metav1.NewTime(time.Now().Add(time.Hour))})}
		for n := range instances {
			objects = append(objects, mustConfigMap(g, publication.Instance{
				ID: fmt.Sprintf("c4000000-0000-4000-8000-%012d", n), SiteID: sim.DefaultSiteID, Name: fmt.Sprintf("worker-%d", n),
				Addresses: []string{cloudtest.Address(n)},
			}))
		}
		p := &published{patience: time.Minute}
		p.start(t.Context(), fakeBuilder{client: fake.NewClientset(objects...)}, func(change) {})
		c := &Cloud{source: p}
		at, err := p.site(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		look := func(node *corev1.Node) {
			g.Expect(c.search(t.Context(), at, node)).To(HaveField("Name", "worker-1"))
		}
		byName, byAddress := cloudtest.Node("worker-1"), cloudtest.Node("x", internalIP(cloudtest.Address(1)))
		return testing.AllocsPerRun(10, func() { look(byName); look(byAddress) })
	}
	g.Expect(allocations(1000)).To(BeNumerically("<", 2*allocations(2)))
}

func mustConfigMap(g Gomega, what interface {
	ConfigMap() (*corev1.ConfigMap, error)
}) *corev1.ConfigMap {
	one, err := what.ConfigMap()
	g.Expect(err).NotTo(HaveOccurred())
	return one
}
