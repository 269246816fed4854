package main

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
)

// calls an address of the DPU, and says what comes of it.
func (d *dpu) calls(address string) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(d.Context(), patience/2)
		defer cancel()
		connection, err := d.dialIn(ctx, address)
		if err != nil {
			return err
		}
		return connection.Close()
	}
}

// Whatever interface has an address, it's the DPU's own, and no host may reach it. The agent is called at the uplink's only.
func TestAgent_knowsAllAddressesAndListensAtTheUplinks(t *testing.T) {
	t.Parallel()
	d := newWorld(t, hostsBehind(1, 1, 2)).dpu(1)
	d.in(d.name, "ip", "address", "add", "10.200.0.2/32", "dev", "lo")
	for name, address := range map[string]string{"oob": "172.31.0.5/24", "storage": "172.32.0.5/24"} {
		d.in(d.name, "ip", "link", "add", name, "type", "veth", "peer", "name", name+"-far")
		d.in(d.name, "ip", "link", "set", name, "up")
		d.in(d.name, "ip", "address", "add", address, "dev", name)
	}
	d.startAgent("--listen=")
	d.Expect(d.report().GetUplink().GetAddresses()).To(ConsistOf("172.18.0.5/24"))
	d.Expect(d.report().GetUplink().GetOtherAddresses()).To(ConsistOf("10.200.0.2", "172.31.0.5", "172.32.0.5"))

	refused := MatchError(func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }, "is refused")
	for _, address := range []string{"10.200.0.2:9660", "172.31.0.5:9660", "172.32.0.5:9660", "127.0.0.1:9660"} {
		d.Expect(d.calls(address)()).To(refused, address)
	}

	// What comes and goes is followed.
	until := d.watch()
	d.in(d.name, "ip", "address", "add", "172.18.0.77/24", "dev", "br-transport")
	d.Eventually(d.calls("172.18.0.77:9660")).WithTimeout(patience).Should(Succeed())
	d.Expect(d.calls(d.ip + ":9660")()).To(Succeed())
	d.in(d.name, "ip", "address", "del", "172.18.0.77/24", "dev", "br-transport")
	d.in(d.name, "ip", "address", "add", "172.18.0.77/32", "dev", "lo")
	d.Eventually(d.calls("172.18.0.77:9660")).WithTimeout(patience).Should(refused)
	d.in(d.name, "ip", "address", "del", "10.200.0.2/32", "dev", "lo")
	until("an address that is another interface's, and one that is gone", func(r *agentv1.Report) bool {
		others := r.GetUplink().GetOtherAddresses()
		return slices.Equal(others, []string{"172.18.0.77", "172.31.0.5", "172.32.0.5"})
	})
}
