package cloudprovider

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest/cloudtest"
	"github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// seldom is an interval that doesn't pass in a test: what happens, happens because a node registers.
func seldom(c *Config) { c.Interval.Duration = time.Hour }

// internalIP is what a kubelet knows of its node.
func internalIP(address string) func(*corev1.Node) {
	return func(node *corev1.Node) {
		node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
	}
}

func (f *fixture) untilInitialized(name, providerID string) *corev1.Node {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		node := f.node(name)
		g.Expect(uninitialized(node)).To(BeFalse())
		g.Expect(node.Spec.ProviderID).To(Equal(providerID))
	}).Should(Succeed(), f.events.text())
	return f.node(name)
}

func TestNode_isInitializedWhenItRegisters(t *testing.T) {
	t.Parallel()
	f := start(t, world(4), seldom, func(c *Config) { c.AdditionalLabels = true })
	for name, row := range map[string]struct {
		instance int
		change   func(*corev1.Node)
	}{
		f.name(0):           {0, func(*corev1.Node) {}}, // by its name
		f.prefix + "-other": {1, internalIP(cloudtest.Address(1))},
		f.prefix + "-told":  {2, cloudtest.WithProviderID(cloudtest.ProviderID(2))},
	} {
		registered := time.Now()
		before := f.register(name, row.change, func(node *corev1.Node) {
			node.Status.Images = []corev1.ContainerImage{{Names: []string{"image"}, SizeBytes: 1}}
		})
		node := f.untilInitialized(name, cloudtest.ProviderID(row.instance))
		t.Logf("%s: initialised after %s", name, time.Since(registered).Round(time.Millisecond))
		f.Expect(node.Labels).To(And(
			HaveKeyWithValue("topology.kubernetes.io/zone", "site-1"), HaveKeyWithValue("topology.kubernetes.io/region", "zurich"),
			HaveKeyWithValue("node.kubernetes.io/instance-type", "cpu.large"), HaveKey(LabelMachine)))
		f.Eventually(func() []corev1.NodeAddress { return f.node(name).Status.Addresses }).Should(ConsistOf(
			corev1.NodeAddress{Type: corev1.NodeHostName, Address: name}, // its kubelet's
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: cloudtest.Address(row.instance)}))
		// What the cache of the controllers leaves out is still there.
		f.Expect(node.Status.Images).To(Equal(before.Status.Images))
		f.Expect(node.ManagedFields).To(ContainElement(And(
			HaveField("Manager", "kubelet"), HaveField("FieldsV1.String()", ContainSubstring("f:"+testLabel)))))
	}
	f.Expect(f.events.text()).To(Equal("[]"))
	f.Expect(f.site.Calls()).NotTo(HaveKey("getInstance"))
}

// The newest list is from before the instance was there. One more list is made for all that register meanwhile.
func TestNode_ofANewInstanceNeedsOneMoreList(t *testing.T) {
	t.Parallel()
	const number = 8 // as many machines as are free
	f := start(t, world(1), seldom)
	f.register(f.name(0))
	f.untilInitialized(f.name(0), cloudtest.ProviderID(0))
	lists := f.site.Calls()["listInstances"]
	for n := 1; n <= number; n++ {
		_, err := f.site.Make(cloudtest.Instance(f.prefix, n))
		f.Expect(err).NotTo(HaveOccurred())
	}
	began := f.cloud.clock.Now()
	f.Eventually(func() bool { return f.cloud.clock.Since(began) > recent }).Should(BeTrue())
	for n := 1; n <= number; n++ {
		f.register(f.name(n))
	}
	for n := 1; n <= number; n++ {
		f.untilInitialized(f.name(n), cloudtest.ProviderID(n))
	}
	f.Expect(f.site.Calls()["listInstances"]-lists).To(BeNumerically("<=", 2), "not one for each node")
}

func TestNodes_thatNeverMatchDontCauseListsForEver(t *testing.T) {
	t.Parallel()
	const number = 20
	f := start(t, world(1), seldom)
	var strangers []string
	for n := range number {
		strangers = append(strangers, fmt.Sprintf("%s-stranger-%d", f.prefix, n))
		f.register(strangers[n], cloudtest.NotReady, internalIP("192.0.2.1"))
	}
	began := f.cloud.clock.Now()
	f.Eventually(func() bool { return f.cloud.clock.Since(began) > 2*recent }).Should(BeTrue())
	f.untilAsked(f.asked.unknown, 3, strangers...)
	lists := f.site.Calls()["listInstances"]
	f.Expect(lists).To(BeNumerically("<", number), "not one for each node")
	f.untilAsked(f.asked.unknown, 20, strangers...)
	f.Expect(f.site.Calls()["listInstances"]).To(Equal(lists), "no more before an interval has passed")
	f.Expect(f.nodes()).To(HaveLen(number))
	for _, name := range strangers {
		f.Expect(f.events.of(name)).To(Equal([]string{ReasonUnknown}))
	}
}

// The instance has no address in the newest list: the machine has only just booted.
func TestNode_waitsForItsAddresses(t *testing.T) {
	t.Parallel()
	f := start(t, world(1), seldom)
	f.gate.stop(func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		rewrite(w, r, service, `"ipAddresses":["`+cloudtest.Address(0)+`"]`, `"ipAddresses":[]`)
	})
	f.register(f.name(0))
	f.Eventually(func() int { return f.site.Calls()["listInstances"] }).Should(BeNumerically(">=", 2), "it looks once more")
	f.untilAsked(f.asked.incomplete, 3, f.name(0))
	f.Expect(f.events.of(f.name(0))).To(Equal([]string{ReasonIncomplete}), "one event, not one for each look")
	f.gate.pass()
	f.refresh()
	f.untilInitialized(f.name(0), cloudtest.ProviderID(0))
	f.Eventually(func() []corev1.NodeAddress { return f.node(f.name(0)).Status.Addresses }).Should( // the write after the taint's
		ContainElement(HaveField("Address", cloudtest.Address(0))))
	f.Expect(f.events.of(f.name(0))).To(HaveLen(1))
}

// The site itself can't be asked, while its instances can.
func TestNode_waitsForItsZone(t *testing.T) {
	t.Parallel()
	f := start(t, world(1))
	f.gate.stop(func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		if strings.Contains(r.URL.Path, "/site/") {
			answer(403, "Tenant does not own this object")(w, r, service)
			return
		}
		service.ServeHTTP(w, r)
	})
	f.register(f.name(0))
	f.untilAsked(f.asked.incomplete, 3, f.name(0))
	f.Expect(f.events.of(f.name(0))).To(Equal([]string{ReasonIncomplete}))
	f.Expect(f.events.text()).To(And(ContainSubstring("Tenant does not own"), ContainSubstring("until then the Node isn't initialised")))
	f.gate.pass()
	f.untilInitialized(f.name(0), cloudtest.ProviderID(0))
	f.Expect(f.events.of(f.name(0))).To(HaveLen(1))
}

// An instance is deleted, and the next one gets its address.
func TestNode_isNotTakenForWhoHadItsAddressBefore(t *testing.T) {
	t.Parallel()
	f := prepare(t, world(2), seldom)
	f.refresh()
	quoted := func(n int) string { return `"` + cloudtest.Address(n) + `"` }
	f.gate.stop(func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		rewrite(w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rewrite(w, r, service, quoted(0), quoted(9))
		}), quoted(1), quoted(0))
	})
	node := cloudtest.Node(f.prefix+"-other", internalIP(cloudtest.Address(0)))
	node.CreationTimestamp = metav1.Now()
	f.Expect(f.cloud.InstanceMetadata(t.Context(), node)).To(HaveField("ProviderID", cloudtest.ProviderID(1)))
}

// rewrite a text in what the service answers.
func rewrite(w http.ResponseWriter, r *http.Request, service http.Handler, old, text string) {
	whole := httptest.NewRecorder()
	service.ServeHTTP(whole, r)
	for key, values := range whole.Header() {
		w.Header()[key] = values
	}
	w.Header().Del("Content-Length")
	w.WriteHeader(whole.Code)
	_, _ = w.Write(bytes.ReplaceAll(whole.Body.Bytes(), []byte(old), []byte(text)))
}

func TestNode_thatCantBeToldApartStaysAsItIs(t *testing.T) {
	t.Parallel()
	f := start(t, world(4), func(c *Config) { c.AdditionalLabels = true })
	f.gate.stop(func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		rewrite(w, r, service, `"`+cloudtest.Address(1)+`"`, `"`+cloudtest.Address(0)+`"`)
	})
	two := f.prefix + "-two"
	f.register(two, cloudtest.NotReady, internalIP(cloudtest.Address(0)))
	f.register(f.name(3))
	f.untilInitialized(f.name(3), cloudtest.ProviderID(3))
	taken := f.prefix + "-taken"
	f.register(taken, cloudtest.NotReady, internalIP(cloudtest.Address(3)))

	f.untilAsked(f.asked.unknown, 20, two, taken)
	for _, name := range []string{two, taken} {
		f.Expect(f.events.of(name)).To(Equal([]string{ReasonAmbiguous}))
		f.Expect(f.node(name).Spec.ProviderID).To(BeEmpty())
		f.Expect(uninitialized(f.node(name))).To(BeTrue())
	}
	f.Expect(f.events.text()).To(And(
		ContainSubstring(cloudtest.InstanceID(0)+" and "+cloudtest.InstanceID(1)), ContainSubstring("already belongs to Node "+f.name(3))))
}

func TestNode_thatIsNotOursStays(t *testing.T) {
	t.Parallel()
	f := start(t, world(1))
	const other = "517e0000-0000-4000-8000-00000000000f"
	rows := map[string]struct{ id, reason string }{
		"foreign":   {"nico://acme/tenant/site-1/" + cloudtest.InstanceID(0), ReasonForeignProviderID},
		"carbide":   {"nvidia-carbide://" + sim.DefaultSiteID + "/" + cloudtest.InstanceID(0), ReasonForeignProviderID},
		"malformed": {"nvidia-bmm://" + cloudtest.InstanceID(0), ReasonMalformedProviderID},
		"nothing":   {"x", ReasonMalformedProviderID},
		"elsewhere": {"nvidia-bmm://" + other + "/" + cloudtest.InstanceID(0), ReasonOtherSite},
		"was":       {"nvidia-bmm://" + other + "/" + cloudtest.InstanceID(7), ReasonOtherSite},
	}
	var names []string
	for name, row := range rows {
		names = append(names, f.prefix+"-"+name)
		f.register(f.prefix+"-"+name, cloudtest.Initialized, cloudtest.NotReady, cloudtest.WithProviderID(row.id))
	}
	f.untilAsked(f.asked.unknown, 30, names...)
	f.Expect(f.nodes()).To(ConsistOf(names))
	for name, row := range rows {
		f.Expect(f.events.of(f.prefix+"-"+name)).To(Equal([]string{row.reason}), f.events.text())
	}
	f.Expect(f.site.Calls()).NotTo(HaveKey("getInstance"))
}

// Of a thousand nodes, of all of which the real lifecycle controller asks all the time.
func TestCalls_areThePagesOfOneListInEachInterval(t *testing.T) {
	t.Parallel()
	const number, pages, every = 1000, 10, 2 * time.Second
	f := start(t, world(number), func(c *Config) { c.Interval.Duration = every })
	f.registerSilent(number)
	f.untilAsked(f.asked.yes, 1, f.name(0), f.name(number-1))
	began, before := f.cloud.clock.Now(), f.site.Calls()
	asked := f.asked.count(f.asked.yes)[f.name(number-1)]
	f.Eventually(func() int { return f.site.Calls()["listInstances"] }).Should(
		BeNumerically(">=", before["listInstances"]+4*pages))
	f.Expect(f.asked.count(f.asked.yes)[f.name(number-1)]).To(BeNumerically(">", asked))
	calls := f.site.Calls()["listInstances"] - before["listInstances"]
	intervals := f.cloud.clock.Since(began).Seconds() / every.Seconds()
	f.Expect(calls).To(BeNumerically("<=", pages*(intervals+1)), "one list in each interval, and one that was on its way")
	for operation, calls := range f.site.Calls() {
		if operation != "listInstances" {
			f.Expect(calls).To(BeNumerically("<=", 2), operation)
		}
	}
	f.Expect(f.nodes()).To(HaveLen(number))
	t.Logf("%d nodes, calls: %v", number, f.site.Calls())
}

func TestAddresses_areInternalUnlessTheInternetReachesThem(t *testing.T) {
	t.Parallel()
	of := func(addresses ...string) *gen.Instance {
		i := &gen.Instance{Name: "node"}
		for _, a := range addresses {
			i.Interfaces = append(i.Interfaces, gen.Interface{IPAddresses: []string{a}})
		}
		return i
	}
	text := func(addresses []corev1.NodeAddress) string {
		var all []string
		for _, a := range addresses {
			all = append(all, string(a.Type)+" "+a.Address)
		}
		return strings.Join(all, ", ")
	}
	for _, row := range []struct {
		instance *gen.Instance
		want     string
	}{
		{of(), ""},
		{of("not an address"), ""},
		{of("10.0.0.1", "172.16.0.1", "fd00::1"), "InternalIP 10.0.0.1, InternalIP 172.16.0.1, InternalIP fd00::1"},
		{of("203.0.113.9", "10.0.0.1"), "InternalIP 10.0.0.1, ExternalIP 203.0.113.9"},
		{of("2001:db8::1"), "InternalIP 2001:db8::1, ExternalIP 2001:db8::1"},
		{of("127.100.0.2", "100.64.0.1", "169.254.1.1"),
			"InternalIP 127.100.0.2, InternalIP 100.64.0.1, InternalIP 169.254.1.1"},
	} {
		NewWithT(t).Expect(text(nodeAddresses(row.instance))).To(Equal(row.want))
	}
}

func TestLabels_areWhatTheAPIKnows(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	gpu := func(domain string) gen.NVLinkInterface { return gen.NVLinkInterface{NVLinkDomainID: domain} }
	g.Expect(additionalLabels(&gen.Instance{})).To(BeEmpty())
	g.Expect(additionalLabels(&gen.Instance{MachineID: "fm100", NVLinkInterfaces: []gen.NVLinkInterface{gpu("d"), gpu("d")}})).
		To(Equal(map[string]string{LabelMachine: "fm100", LabelNVLinkDomain: "d"}))
	g.Expect(additionalLabels(&gen.Instance{NVLinkInterfaces: []gen.NVLinkInterface{gpu("d"), gpu("e")}})).To(BeEmpty())
}
