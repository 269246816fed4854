package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
)

// get asks the agent for a page, from the DPU itself.
func (d *dpu) get(path string) (int, string) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, to string) (net.Conn, error) {
		return d.dialIn(ctx, to)
	}}}
	answer, err := client.Get("http://127.0.0.1:9661" + path)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	d.Expect(err).NotTo(HaveOccurred())
	return answer.StatusCode, string(body)
}

func TestMetrics_areServed(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	_, err := d.isolate("h3")
	d.Expect(err).NotTo(HaveOccurred())
	d.kill("ovn-controller")
	d.Eventually(func() string { _, body := d.get("/metrics"); return body }).WithTimeout(patience).Should(And(
		ContainSubstring("bedplate_hydrazine_agent_ovn_controller_starts_total 2"),
		ContainSubstring(`bedplate_hydrazine_agent_ports{state="attached"} 1`),
		ContainSubstring(`bedplate_hydrazine_agent_ports{state="isolated"} 2`),
		ContainSubstring(`bedplate_hydrazine_agent_connected{to="Open_vSwitch"} 1`),
		MatchRegexp(`bedplate_hydrazine_agent_isolation_seconds_count [1-9]`),
		MatchRegexp(`bedplate_hydrazine_agent_lease_remaining_seconds 3[0-9.e+]+`),
		ContainSubstring("process_resident_memory_bytes"),
		Not(ContainSubstring("go_gc")),
	))
	status, body := d.get("/healthz")
	d.Expect(status).To(Equal(http.StatusOK), body)
	d.kill("ovsdb-server")
	d.Eventually(func() int { status, _ := d.get("/healthz"); return status }).WithTimeout(patience).Should(Equal(http.StatusServiceUnavailable))
	_, body = d.get("/metrics")
	d.Expect(body).To(ContainSubstring(`bedplate_hydrazine_agent_connected{to="Open_vSwitch"} 0`))
}

func TestMetrics_canBeTurnedOff(t *testing.T) {
	t.Parallel()
	d := newWorld(t, hostsBehind(1, 1, 2)).dpu(1)
	d.startAgent("--metrics-addr=")
	status, failure := d.get("/healthz")
	d.Expect(status).To(BeZero())
	d.Expect(failure).To(ContainSubstring("connection refused"))
}
