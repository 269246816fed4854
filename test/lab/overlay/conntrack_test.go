package overlay_test

import (
	"context"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
)

const (
	soakVariable = "BEDPLATE_SOAK"
	// flowsEach is how many flows there are of each interval and direction: 2,200 in all.
	flowsEach = 100
	// restartTime is how long a DPU may take to be back when its ovs-vswitchd was started again.
	restartTime = 20 * time.Second
)

// Flows whose packets are as far apart as connection tracking remembers them, 59 to 61.5 s, under ping. Each host's connections are
// tracked, since a security group lets them pass. An hour is `make soak-conntrack`.
func TestSoak_flowsAtTheTimeoutOfConnectionTracking(t *testing.T) {
	t.Parallel()
	duration, err := time.ParseDuration(os.Getenv(soakVariable))
	if err != nil {
		t.Skipf("it takes as long as $%s says, such as 1h; less than 3m shows nothing", soakVariable)
	}
	p := upPair(t, fabric.Flat(2))
	change(p.stack, p.group, func(g *resourcev1.ResourceGroup) {
		g.Spec.SecurityGroups = []resourcev1.SecurityGroup{{Name: resourcev1.DefaultSecurityGroup, Rules: []resourcev1.SecurityRule{
			{Direction: resourcev1.Egress}, {Direction: resourcev1.Ingress},
		}}}
	})
	p.becomes(p.group, resourcev1.PropagatedCondition, metav1.ConditionTrue, "")
	var restarts atomic.Int32
	p.KeepSwitches(func(end error) {
		t.Log(end)
		restarts.Add(1)
	})
	packets, gap := p.lost(func() {
		ctx, cancel := context.WithTimeout(t.Context(), duration)
		defer cancel()
		var senders sync.WaitGroup
		defer senders.Wait()
		for direction, from := range []string{"host1", "host2"} {
			own, other := net.IPv4(10, 10, 10, byte(2+direction)), net.IPv4(10, 10, 10, byte(3-direction))
			port := 20000
			for interval := 59 * time.Second; interval <= 61500*time.Millisecond; interval += 250 * time.Millisecond {
				var sockets []*net.UDPConn
				p.Expect(p.Do(from, func() error {
					for range flowsEach {
						socket, err := net.DialUDP("udp", &net.UDPAddr{IP: own, Port: port}, &net.UDPAddr{IP: other, Port: 9})
						if err != nil {
							return err
						}
						sockets, port = append(sockets, socket), port+1
					}
					return nil
				})).To(Succeed())
				senders.Go(func() { sendEvery(ctx, interval, sockets) })
			}
		}
	})
	t.Logf("%d restarts of ovs-vswitchd in %s", restarts.Load(), duration)
	if n := restarts.Load(); n > 0 {
		p.Expect(gap).To(BeNumerically("<=", restartTime))
		for _, host := range []*resourcev1.ManagedResource{p.one, p.two} {
			p.ready(host)
		}
		return
	}
	p.Expect(packets).To(BeZero())
}

// sendEvery sends a packet by each socket at once and after each interval.
func sendEvery(ctx context.Context, interval time.Duration, sockets []*net.UDPConn) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		for _, socket := range sockets {
			_, _ = socket.Write([]byte("x")) // refused where the last one was answered by ICMP: no program has the port
		}
		select {
		case <-ctx.Done():
			for _, socket := range sockets {
				_ = socket.Close()
			}
			return
		case <-ticker.C:
		}
	}
}
