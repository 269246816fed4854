package sim_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/sim/simtest"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/simulator"
)

var newVPC = client.VPCCreateRequest{Name: "net", SiteID: sim.DefaultSiteID}

func TestFaultStatus_answersWithoutTheWork(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.Expect(b.server.AddFault(simulator.Fault{Operation: "createVpc", Kind: simulator.FaultStatus, Status: 503, Message: "busy", Times: 2})).To(Succeed())
		for range 2 {
			_, err := b.client.CreateVPC(b.t.Context(), newVPC)
			b.Expect(err).To(MatchError("create VPC: 503 Service Unavailable: busy"))
		}
		b.Expect(b.server.State().Empty()).To(BeTrue())
		_, err := b.client.CreateVPC(b.t.Context(), newVPC)
		b.Expect(err).NotTo(HaveOccurred())
	})
}

func TestFaultLoseAnswer_doesTheWork(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.Expect(b.server.AddFault(simulator.Fault{Operation: "createVpc", Kind: simulator.FaultLoseAnswer})).To(Succeed())
		_, err := b.client.CreateVPC(b.t.Context(), newVPC)
		b.Expect(fault.IsAmbiguous(err)).To(BeTrue())
		b.Expect(err).To(MatchError(io.ErrUnexpectedEOF))
		b.Expect(b.server.State().VPCs).To(HaveLen(1))
	})
}

func TestFaultHang_lastsUntilTheClientGoes(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.Expect(b.server.AddFault(simulator.Fault{Operation: "createVpc", Kind: simulator.FaultHang})).To(Succeed())
		began := time.Now()
		_, err := b.client.CreateVPC(b.t.Context(), newVPC)
		b.Expect(fault.IsAmbiguous(err)).To(BeTrue())
		b.Expect(time.Since(began)).To(Equal(client.DefaultTimeout))
		b.pass(time.Hour)
		b.Expect(b.server.State().Empty()).To(BeTrue())
	})
}

func TestFaultHang_endsWhenFaultsAreCleared(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.Expect(b.server.AddFault(simulator.Fault{Operation: "listVpcs", Kind: simulator.FaultHang, Times: -1})).To(Succeed())
		var list sync.WaitGroup
		list.Go(func() {
			status, _ := b.call(http.MethodGet, base+"/vpc", "")
			b.Expect(status).To(Equal(http.StatusServiceUnavailable))
		})
		b.pass(time.Second)
		b.server.ClearFaults()
		list.Wait()
		_, err := b.client.VPCs(b.t.Context(), client.VPCFilter{})
		b.Expect(err).NotTo(HaveOccurred())
	})
}

func TestFaultCommitLate_worksForAClientThatHasGone(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.Expect(b.server.AddFault(simulator.Fault{Operation: "createVpc", Kind: simulator.FaultCommitLate,
			Delay: metav1.Duration{Duration: 20 * time.Second}})).To(Succeed())
		ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
		defer cancel()
		_, err := b.client.CreateVPC(ctx, newVPC)
		b.Expect(fault.IsAmbiguous(err)).To(BeTrue())
		b.pass(19 * time.Second)
		b.Expect(b.server.State().Empty()).To(BeTrue())
		b.pass(3 * time.Second) // and the second that a create takes
		b.Expect(b.server.State().VPCs).To(HaveLen(1))
	})
}

func TestACreate_isCommittedEvenIfItsClientHasGone(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, cancel := context.WithTimeout(b.t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := b.client.CreateVPC(ctx, newVPC)
		b.Expect(fault.IsAmbiguous(err)).To(BeTrue())
		b.pass(time.Second)
		b.Expect(b.server.State().VPCs).To(HaveLen(1))
	}, func(c *sim.Config) { c.Abandoned = sim.AbandonedCommitted })
}

func TestAdminEndpoints(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for _, row := range []struct {
			method, path, body string
			status             int
			says               string
		}{
			{"POST", "/simulator/faults", `{"operation":"createVpc","times":1,"kind":"status","status":503,"message":"x"}`, 204, ""},
			{"POST", "/simulator/faults", `{"operation":"createVpc","kind":"commitLate","delay":"2s"}`, 204, ""},
			{"POST", "/simulator/faults", `{"operation":"createVpc","kind":"explode"}`, 400, "explode"},
			{"POST", "/simulator/faults", `{"operation":"paintVpc","kind":"hang"}`, 400, "paintVpc"},
			{"POST", "/simulator/faults", `{"operation":"createVpc","kind":"status"}`, 400, "status"},
			{"POST", "/simulator/faults", `{"operatoin":"createVpc"}`, 400, "operatoin"},
			{"DELETE", "/simulator/faults", "", 204, ""},
			{"GET", "/simulator/state", "", 200, `"instances":[],"world":["` + sim.DefaultIPBlockID + `"]`},
			{"POST", "/simulator/tokens", `["other"]`, 204, ""},
			{"GET", base + "/site", "", 401, ""},
			{"GET", "/simulator/calls", "", 200, `{"listSites":1}`},
			{"GET", "/simulator/secrets", "", 404, ""},
		} {
			status, body := b.call(row.method, row.path, row.body)
			b.Expect(status).To(Equal(row.status), "%s %s: %s", row.path, row.body, body)
			b.Expect(body).To(ContainSubstring(row.says))
		}
	})
}

// TestOverTheNetwork is for what only a real connection shows: that the server notices a client that has gone.
func TestOverTheNetwork(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	config := sim.DefaultWorld()
	config.Speed = 100
	server, endpoint := simtest.Start(t, config, nil)
	c, err := client.New(client.Config{Endpoint: endpoint, Org: config.Org, Token: config.Tokens[0], Limits: httpclient.Limits{Egress: egress.Policy{Loopback: true}}})
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(server.AddFault(simulator.Fault{Operation: "createVpc", Kind: simulator.FaultLoseAnswer})).To(Succeed())
	_, err = c.CreateVPC(t.Context(), newVPC)
	g.Expect(fault.IsAmbiguous(err)).To(BeTrue())
	g.Expect(err).To(MatchError(io.EOF))
	g.Expect(server.State().VPCs).To(HaveLen(1))

	g.Expect(server.AddFault(simulator.Fault{Operation: "createVpc", Kind: simulator.FaultCommitLate})).To(Succeed())
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // the request has to arrive
	defer cancel()
	_, err = c.CreateVPC(ctx, client.VPCCreateRequest{Name: "late", SiteID: sim.DefaultSiteID})
	g.Expect(fault.IsAmbiguous(err)).To(BeTrue())
	g.Eventually(func() int { return len(server.State().VPCs) }, time.Minute).Should(Equal(2))

	resp, err := http.Get(endpoint + "/simulator/calls")
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = resp.Body.Close() }()
	g.Expect(resp).To(HaveHTTPBody(ContainSubstring(`"createVpc":2`)))
}
