package overlay_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

// From the wish that a PublicIP be there, for a host that waits for one, until the first answer from behind the router: the
// manager gives it away and has OVN translate it, speakers announce it, FRR leads there. Sessions are up.
func BenchmarkPublicIP(b *testing.B) {
	a := upAbroad(b)
	change(a.stack, a.two, func(r *resourcev1.ManagedResource) { r.Spec.HostAccess = resourcev1.FabricAccess })
	a.ready(a.two)
	a.becomes(a.one, resourcev1.PublicIPReadyCondition, metav1.ConditionFalse, "")
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		ip := a.publicIP(public1)
		a.answered(public1)
		took = append(took, time.Since(began))
		b.StopTimer()
		a.Expect(a.client.Delete(b.Context(), ip)).To(Succeed())
		a.gone(&networkfabricv1.PublicIP{ObjectMeta: ip.ObjectMeta})
		a.Eventually(a.paths).WithArguments(public1).Should(BeEmpty())
		b.StartTimer()
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds(), "s-median")
	b.ReportMetric(took[len(took)-1].Seconds(), "s-slowest")
}

// answered returns with the first answer. As long as the router knows no way, it says so, and that ends a probe.
func (a *abroad) answered(address string) {
	a.t.Helper()
	p := probe.Probe{From: fabric.Internet, Protocol: probe.UDP, To: netip.AddrPortFrom(netip.MustParseAddr(address), tcpPort), Patience: patience}
	a.Eventually(func() error { _, err := a.Reach(a.t.Context(), p); return err }).WithPolling(5 * time.Millisecond).Should(Succeed())
}
