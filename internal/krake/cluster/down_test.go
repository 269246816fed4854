package cluster_test

import (
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/krake/kraketest"
)

// Nothing but new Clusters asks for IM. One that is down isn't sent a template in each retry: to write it is most of a reconcile's work.
func TestTemplateValid_isNotAskedOfAnIMThatIsDown(t *testing.T) {
	t.Parallel()
	f := kraketest.StartIM(t)
	var down atomic.Bool
	var checks, probes atomic.Int64
	next := f.Transport
	f.Transport = httpclient.RoundTrip(func(r *http.Request) (*http.Response, error) {
		if !down.Load() {
			return next.RoundTrip(r)
		}
		if r.URL.Query().Has("dry_run") {
			checks.Add(1)
		} else {
			probes.Add(1)
		}
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	})
	down.Store(true)
	f.RunControllers()
	f.CreateCloud()
	var all []*krakev1.Cluster
	for _, name := range []string{"one", "two", "three"} {
		all = append(all, f.CreateCluster(name))
	}
	for _, c := range all {
		f.UntilReason(c, krakev1.TemplateValidCondition, "Transient", "connection refused")
	}
	sent, probed := checks.Load(), probes.Load()
	f.Eventually(probes.Load).Should(BeNumerically(">", probed+2))
	f.Expect(checks.Load()).To(Equal(sent))
	down.Store(false)
	for _, c := range all {
		f.UntilState(c, krakev1.StateConnecting)
	}
}
