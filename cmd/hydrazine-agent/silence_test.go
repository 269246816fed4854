package main

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/pki"
)

// silent connections to the agent, from another machine of the fabric: those that are closed come again.
func (d *dpu) silent(ctx context.Context, n int) (open *atomic.Int32) {
	open = &atomic.Int32{}
	for range n {
		go func() {
			for ctx.Err() == nil {
				d.silence(ctx, open)
				select {
				case <-ctx.Done():
				case <-time.After(time.Second):
				}
			}
		}()
	}
	return open
}

// silence is one of them, until it is closed.
func (d *dpu) silence(ctx context.Context, open *atomic.Int32) {
	var connection net.Conn
	err := d.fabric.Do(centralNode, func() (err error) {
		connection, err = (&net.Dialer{}).DialContext(ctx, "tcp", d.ip+":9660")
		return err
	})
	if err != nil {
		return
	}
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	open.Add(1)
	defer open.Add(-1)
	_, _ = connection.Read(make([]byte, 1))
}

// Whoever connects and says nothing keeps no place that the controller needs: or hosts are isolated at the end of their leases.
func TestTLS_silentConnectionsAreInNobodyElsesWay(t *testing.T) {
	t.Parallel()
	for _, n := range []int{32, 500} {
		t.Run(map[int]string{32: "few", 500: "many"}[n], func(t *testing.T) {
			t.Parallel()
			d := newWorld(t, hostsBehind(1, 1, 2)).dpu(1)
			ca, err := pki.NewAuthority("ca")
			d.Expect(err).NotTo(HaveOccurred())
			own := d.certified(ca, pki.Leaf{CommonName: "dpu1", IPs: []net.IP{net.ParseIP(d.ip)}})
			d.launchAgent("--insecure=false", "--tls-cert-file="+own.Certificate, "--tls-private-key-file="+own.Key, "--tls-ca-file="+own.Authorities)
			manager := d.certified(ca, pki.Leaf{CommonName: "hydrazine-manager"})
			d.client = d.as(manager)
			d.Eventually(func() []string { return d.report().GetUplink().GetAddresses() }).WithTimeout(patience).ShouldNot(BeEmpty())
			_, err = d.attach(fabric.Port(0), "h2", time.Hour)
			d.Expect(err).NotTo(HaveOccurred())

			open := d.silent(t.Context(), n)
			d.Eventually(open.Load).WithTimeout(patience).Should(BeNumerically(">=", 32))
			for range 5 {
				d.client = d.as(manager) // anew
				d.Expect(d.report()).NotTo(BeNil(), "%d silent connections", open.Load())
				_, err := d.attach(fabric.Port(0), "h2", time.Hour)
				d.Expect(err).NotTo(HaveOccurred(), "%d silent connections", open.Load())
			}
			// They are told to go in time, and as soon as there are too many.
			d.Eventually(open.Load).WithTimeout(patience).Should(BeNumerically("<=", 130))
		})
	}
}
