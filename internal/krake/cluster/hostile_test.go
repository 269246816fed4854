package cluster_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/kraketest"
	"github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

// answers replaces IM's answers to reads of a property, as long as there is one. It has to be called before the controllers run.
func answers(f *kraketest.Fixture, property string, status int, contentType, body string) (on *atomic.Bool) {
	on = &atomic.Bool{}
	next := f.Transport
	f.Transport = httpclient.RoundTrip(func(r *http.Request) (*http.Response, error) {
		if !on.Load() || r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/"+property) {
			return next.RoundTrip(r)
		}
		return &http.Response{
			StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {contentType}},
			Body: io.NopCloser(strings.NewReader(body)), Request: r,
		}, nil
	})
	return on
}

// Some proxies refuse what they don't know. What wasn't read may be ours: it is neither made twice nor left.
func TestFind_whatCantBeReadMayBeOurs(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			f := kraketest.StartIM(t)
			proxy := answers(f, "tosca", status, "text/html", "<html>no</html>")
			proxy.Store(true)
			f.RunControllers()
			f.CreateCloud()
			f.Fault(simulator.Fault{Operation: "createInfrastructure", Kind: simulator.FaultLoseAnswer})
			c := f.CreateCluster("demo")
			f.Eventually(func() int { return f.Called("createInfrastructure") }).Should(Equal(1))
			f.Consistently(func() int { return f.Called("createInfrastructure") }, 4*kraketest.Settle).Should(Equal(1))
			proxy.Store(false)
			f.UntilState(c, krakev1.StateConnecting)
			f.Expect(f.IM.State()).To(HaveLen(1))
		})
	}
}

// A log is for people. An infrastructure is repaired without it, too.
func TestLog_thatCantBeReadHoldsUpNothing(t *testing.T) {
	t.Parallel()
	f := kraketest.StartIM(t)
	answers(f, "contmsg", http.StatusOK, "application/json", `{"contmsg": "`+strings.Repeat("x", 9<<20)+`"}`).Store(true)
	f.RunControllers()
	f.CreateCloud()
	f.Expect(f.IM.SetOutcome(sim.Outcome{State: im.Unconfigured, Message: "no public IP", Times: 1})).To(Succeed())
	c := f.CreateCluster("demo")
	f.UntilState(c, krakev1.StateConnecting)
	f.Expect(f.Called("reconfigureInfrastructure")).To(Equal(2), "of which one has failed")
}

// A machine without an ID isn't one, and others are shown.
func TestVMs_ofStrangeAnswersFitIntoAStatus(t *testing.T) {
	t.Parallel()
	f := kraketest.StartIM(t)
	const strange = `{"state": {"state": "configured", "vm_states": {"": "failed", "0": null, "1": "\u001b[2J", "\ud800": 7}}}`
	on := answers(f, "state", http.StatusOK, "application/json", strings.Replace(strange, "7", `"off"`, 1))
	f.RunControllers()
	f.CreateCloud()
	c := f.CreateCluster("demo")
	f.UntilState(c, krakev1.StateConnecting)
	on.Store(true)
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(c)).To(Succeed())
		g.Expect(c.Status.VMs).To(ConsistOf(
			krakev1.VMStatus{ID: "\ufffd", State: "off"}, krakev1.VMStatus{ID: "0"}, krakev1.VMStatus{ID: "1", State: "unknown"}))
	}).Should(Succeed())
}
