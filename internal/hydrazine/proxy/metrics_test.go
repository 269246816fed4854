package proxy_test

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"k8s.io/client-go/rest"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/proxy"
)

// measured values of one of the proxy's metrics, by their labels' values. Of a histogram it is how often something was observed.
func (f *fixture) measured(name string) map[string]float64 {
	f.t.Helper()
	families, err := f.metrics.Gather()
	f.Expect(err).NotTo(HaveOccurred())
	values := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "bedplate_hydrazine_proxy_"+name {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := []string{}
			for _, label := range m.GetLabel() { // which are sorted
				labels = append(labels, label.GetValue())
			}
			values[strings.Join(labels, " ")] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return values
}

func (f *fixture) refused(reason string) float64 { return f.measured("refused_total")[reason] }

func TestMetrics_countWhatClientsDo(t *testing.T) {
	t.Parallel()
	f, ctx := newFixture(t), t.Context()
	c := f.as(tenant("blue"))
	f.createGroup(c, "web")
	for range 2 {
		_, err := c.ManagedResources.Get(ctx, &proxyv1.GetRequest{Name: "none"})
		f.Expect(code(err)).To(Equal(codes.NotFound))
	}
	watching, cancel := context.WithCancel(ctx)
	stream, err := c.ResourceGroups.Watch(watching, &proxyv1.WatchRequest{Name: "none"})
	f.Expect(err).NotTo(HaveOccurred())
	what, _ := f.next(stream)
	f.Expect(what).To(Equal("BOOKMARK "))
	f.Expect(f.measured("watches")).To(Equal(map[string]float64{"ResourceGroup": 1}))
	cancel()
	f.Eventually(f.measured, patience).WithArguments("watches").Should(Equal(map[string]float64{"ResourceGroup": 0}))
	f.Eventually(f.measured, patience).WithArguments("calls_total").Should(Equal(map[string]float64{
		"OK ResourceGroups/Create": 1, "NotFound ManagedResources/Get": 2, "Canceled ResourceGroups/Watch": 1,
	}))
	f.Expect(f.measured("call_duration_seconds")).To(Equal(map[string]float64{"ResourceGroups/Create": 1, "ManagedResources/Get": 2}))
	for reason, n := range f.measured("refused_total") {
		f.Expect(n).To(BeZero(), reason)
	}
}

func TestMetrics_countWhoIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ *rest.Config, c *proxy.Config) {
		c.TenantConnections, c.TenantWatches, c.TenantQPS, c.TenantBurst = 1, 1, 0.001, 4
	})
	ctx, blue, red := t.Context(), tenant("blue"), tenant("red")
	c := f.as(blue)
	for range 2 {
		_, err := c.ResourceGroups.Get(ctx, &proxyv1.GetRequest{Tenant: red, Name: "web"})
		f.Expect(code(err)).To(Equal(codes.PermissionDenied))
	}
	what, _ := f.next(f.watchGroups(c, ""))
	f.Expect(what).To(Equal("BOOKMARK "))
	_, err := f.watchGroups(c, "").Recv()
	f.Expect(code(err)).To(Equal(codes.ResourceExhausted))
	for range 3 {
		_, err = c.ResourceGroups.List(ctx, &proxyv1.ListRequest{})
		f.Expect(code(err)).To(Equal(codes.ResourceExhausted))
	}
	second, _ := f.healthy(blue)
	f.Expect(second()).NotTo(Succeed())
	nobody, _ := f.healthy("two words")
	f.Expect(nobody()).NotTo(Succeed())
	// The client hears of a handshake that fails before the proxy has counted it.
	f.Eventually(f.measured, patience).WithArguments("refused_total").Should(And(
		HaveKeyWithValue("tenant", 2.0), HaveKeyWithValue("watches", 1.0), HaveKeyWithValue("calls", 3.0),
		HaveKeyWithValue("connections", BeNumerically(">=", 1)), HaveKeyWithValue("handshake", BeNumerically(">=", 1)), HaveKeyWithValue("silence", 0.0)))
}
