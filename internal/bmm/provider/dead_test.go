package provider_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/testenv"
)

// mute is an API that accepts connections and answers nothing until it is healed.
type mute struct {
	healed        chan struct{}
	working, most atomic.Int32
}

func newMute(t *testing.T, api http.Handler) (m *mute, endpoint string) {
	m = &mute{healed: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-m.healed:
			api.ServeHTTP(w, r)
			return
		default:
		}
		m.most.Store(max(m.working.Add(1), m.most.Load()))
		defer m.working.Add(-1)
		select {
		case <-m.healed:
			api.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	return m, server.URL
}

// refusing is an address at which no process listens.
func refusing(t *testing.T) string {
	return "http://" + testenv.FreeAddress(t, net.IPv4(127, 0, 0, 1)).String()
}

// dropping is an address that doesn't even answer SYN: no process accepts, and the backlog is full.
func dropping(t *testing.T, f *bmmtest.Fixture) string {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	f.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = syscall.Close(socket) })
	f.Expect(syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})).To(Succeed())
	f.Expect(syscall.Listen(socket, 0)).To(Succeed())
	name, err := syscall.Getsockname(socket)
	f.Expect(err).NotTo(HaveOccurred())
	address := fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	for full := false; !full; {
		c, err := net.DialTimeout("tcp", address, 300*time.Millisecond)
		if full = err != nil; !full {
			t.Cleanup(func() { _ = c.Close() })
		}
	}
	return "http://" + address
}

// A hundred clusters at three endpoints that are dead, each in its own way. A cluster at a healthy one doesn't wait for any
// call to them, and theirs are up when theirs is back.
func TestDead_endpointsHoldUpNobodyElse(t *testing.T) {
	t.Parallel()
	const clusters, alone = 100, 18 * time.Second           // shorter than any call without an answer
	f := bmmtest.StartPaced(t, time.Second, bmmtest.Settle) // a hundred clusters are busy by themselves with a shorter interval
	healthy := f.Endpoint
	silent, hangs := newMute(t, f.Sim)
	dead := []string{hangs, refusing(t), dropping(t, f)}
	var back []*infrav1.NvidiaBMMCluster
	for n := range clusters {
		f.Endpoint = dead[n%len(dead)]
		object := f.CreateCluster(fmt.Sprintf("dead-%d", n))
		if f.Endpoint == hangs {
			back = append(back, object)
		}
	}
	f.Endpoint = healthy
	f.Eventually(silent.working.Load).Should(BeNumerically(">", 0))

	began := time.Now()
	near := f.CreateCluster("near")
	machine := f.CreateMachine("near", "worker-1", bootData)
	f.SetDefaultEventuallyTimeout(alone)
	f.UntilReady(near)
	f.UntilReady(machine)
	t.Logf("the healthy one was up after %s", time.Since(began).Round(10*time.Millisecond))
	f.Expect(silent.most.Load()).To(BeNumerically("<=", 2), "a worker, and one that is just leaving")

	f.SetDefaultEventuallyTimeout(patient)
	f.UntilReason(back[0], infrav1.ReferencesResolvedCondition, "Transient", "hasn't answered since")
	close(silent.healed)
	for _, object := range back {
		f.UntilReady(object)
	}
}
