package main

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/soaktest"
)

// silent connections to the agent, from another machine of the fabric: those that are closed come again.
func (d *dpu) silent(n int) (open *atomic.Int32) {
	ctx := d.Context()
	open = &atomic.Int32{}
	for range n {
		go func() {
			for ctx.Err() == nil {
				d.silence(ctx, open)
				soaktest.Rest(ctx, time.Second)
			}
		}()
	}
	return open
}

// connect to the agent from another machine of the fabric.
func (d *dpu) connect(ctx context.Context) (connection net.Conn, err error) {
	err = d.fabric.Do(centralNode, func() error {
		connection, err = (&net.Dialer{}).DialContext(ctx, "tcp", d.ip+":9660")
		return err
	})
	return connection, err
}

// silence is one of them, until it is closed.
func (d *dpu) silence(ctx context.Context, open *atomic.Int32) {
	connection, err := d.connect(ctx)
	if err != nil {
		return
	}
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	open.Add(1)
	defer open.Add(-1)
	_, _ = connection.Read(make([]byte, 1))
}

// Connections that say nothing keep no place that the controller needs: or hosts are isolated at the end of their leases.
func TestTLS_silentConnectionsAreInNobodyElsesWay(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"few": 32, "many": 500} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _, _, manager := secured(t)
			_, err := d.attach(fabric.Port(0), "h2", time.Hour)
			d.Expect(err).NotTo(HaveOccurred())

			open := d.silent(n)
			d.Eventually(open.Load).WithTimeout(patience).Should(BeNumerically(">=", 32))
			for range 5 {
				d.client = d.as(manager) // by another connection
				d.Expect(d.report()).NotTo(BeNil(), "%d silent connections", open.Load())
				_, err := d.attach(fabric.Port(0), "h2", time.Hour)
				d.Expect(err).NotTo(HaveOccurred(), "%d silent connections", open.Load())
			}
			// They are closed in time, and as soon as there are too many.
			d.Eventually(open.Load).WithTimeout(patience).Should(BeNumerically("<=", 130))
		})
	}
}
