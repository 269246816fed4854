package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/net/http2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/hostiletest"
	"github.com/bedplate/bedplate/internal/soaktest"
	"github.com/bedplate/bedplate/internal/testenv"
)

// mostGrowth is how many MB the program's memory may grow by, whatever clients do: what it has at rest, and this, and as much as
// Go's collector leaves lying about, is less than the 512 MiB of its Pod.
const mostGrowth = 250

// attackTime is several times what messages need to go past a limit that doesn't hold. `make soak-hostile` takes an hour.
const attackTime = 5 * time.Second

// attack the program for some time, then compare its memory with what it was before, and check whether it still
// answers.
func (p *program) attack(during time.Duration, most float64, do func(ctx context.Context)) {
	p.t.Helper()
	c := p.as("honest")
	honest := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_, err := c.ResourceGroups.List(ctx, &proxyv1.ListRequest{})
		return err
	}
	p.Expect(honest()).To(Succeed())
	p.forget()
	before := p.memory()
	ctx, cancel := context.WithTimeout(p.t.Context(), during)
	defer cancel()
	var attacking sync.WaitGroup
	attacking.Go(func() { do(ctx) })
	for ctx.Err() == nil {
		p.Expect(honest()).To(Succeed())
		soaktest.Rest(ctx, 200*time.Millisecond)
	}
	attacking.Wait()
	p.Expect(honest()).To(Succeed())
	p.t.Logf("%.0f MB before, %.0f MB at the most, %.0f MB after", before, p.peak(), p.memory())
	p.Expect(p.peak() - before).To(BeNumerically("<", most))
}

// swarm has some connections of each of some tenants, and does the same with all of them at a time.
func (p *program) swarm(ctx context.Context, tenants, connections int, settings []http2.Setting, do func(r *hostiletest.Raw)) {
	var all sync.WaitGroup
	for tenant := range tenants {
		config := p.tenant(p.hostile(tenant))
		for range connections {
			all.Go(func() {
				if r, err := p.raw(ctx, config, settings...); err == nil {
					do(r)
				}
			})
		}
	}
	all.Wait()
}

// hostile tenant of this program alone: the API server, and what was left there, is all tests'.
func (p *program) hostile(n int) string { return fmt.Sprintf("hostile%s-%d", p.pid(), n) }

// Not in parallel, as each has all of the machine: 2 connections are enough for half a GiB within a second, where limits begin
// only when a message has come.
func TestHostile_unfinishedMessages(t *testing.T) { //nolint:paralleltest // see above
	for name, c := range map[string]struct{ calls, size int }{"as large as there may be": {100, 128 << 10}, "larger": {20, 1 << 20}} {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // see above
			p := start(t)
			p.attack(attackTime, mostGrowth, func(ctx context.Context) {
				p.swarm(ctx, 16, 2, nil, func(r *hostiletest.Raw) {
					r.EachCall(c.calls, "ResourceGroups/Create", func(stream uint32) { r.Send(stream, hostiletest.Unfinished(c.size), 16<<10, false) })
				})
			})
		})
	}
}

// gRPC keeps 56 bytes for each piece of a message, even if there is one byte in it.
func TestHostile_messagesInPieces(t *testing.T) { //nolint:paralleltest // see above
	p := start(t)
	p.attack(attackTime, 100, func(ctx context.Context) {
		p.swarm(ctx, 8, 2, nil, func(r *hostiletest.Raw) {
			r.EachCall(16, "ResourceGroups/Create", func(stream uint32) { r.Send(stream, hostiletest.Unfinished(64<<10), 1, false) })
		})
	})
}

// An empty message of two bytes takes a hundred when it is decoded.
func TestHostile_messagesOfManyValues(t *testing.T) { //nolint:paralleltest // see above
	p := start(t)
	spec := group("10.10.10.0")
	spec.SecurityGroups = []*proxyv1.SecurityGroup{{Name: "x"}}
	for range 60_000 {
		spec.SecurityGroups[0].Rules = append(spec.SecurityGroups[0].Rules, &proxyv1.SecurityRule{})
	}
	many := hostiletest.Message(&proxyv1.CreateResourceGroupRequest{Name: "x", Spec: spec})
	p.attack(attackTime, mostGrowth, func(ctx context.Context) {
		p.swarm(ctx, 8, 2, nil, func(r *hostiletest.Raw) {
			r.EachCall(50, "ResourceGroups/Create", func(stream uint32) {
				if r.Send(stream, many[:len(many)-1], 16<<10, false) {
					r.Send(stream, many[len(many)-1:], 1, true)
				}
			})
		})
	})
}

// A client that is refused leaves nothing behind, whatever deadline it has.
func TestHostile_refusedCalls(t *testing.T) { //nolint:paralleltest // see above
	p := start(t)
	empty := hostiletest.Message(&proxyv1.ListRequest{})
	p.attack(20*time.Second, mostGrowth, func(ctx context.Context) {
		p.swarm(ctx, 4, 1, nil, func(r *hostiletest.Raw) {
			for ctx.Err() == nil {
				stream, ok := r.Open("ResourceGroups/List", "99999999H")
				if !ok || !r.Send(stream, empty, len(empty), true) && r.Over() {
					return
				}
			}
		})
	})
}

// fill a tenant's namespace with groups that are as large as the API server takes without the manager's webhook.
func (p *program) fill(tenant string, groups int) {
	p.t.Helper()
	c, ctx := testenv.Client(p.t), p.t.Context()
	p.Expect(c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant-" + tenant}})).To(Succeed())
	for n := range groups {
		g := &resourcev1.ResourceGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-" + tenant, Name: fmt.Sprintf("large%d", n)}}
		g.Spec.Network = &resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24}
		g.Spec.NetworkImplementationType = resourcev1.SoftwareNetwork
		large(&g.Spec, 4, 16)
		p.Expect(c.Create(ctx, g)).To(Succeed())
	}
}

// large security groups, of 1 KiB for each rule, which don't become much smaller when they are compressed.
func large(spec *resourcev1.ResourceGroupSpec, groups, rules int) {
	random := rand.New(rand.NewPCG(7, 7))
	for n := range groups {
		s := resourcev1.SecurityGroup{Name: fmt.Sprintf("group%d", n)}
		for range rules {
			rule := resourcev1.SecurityRule{Direction: resourcev1.Ingress, Protocol: resourcev1.AnyProtocol}
			for other := range 16 {
				name := fmt.Appendf(nil, "%02d", other)
				for range 58 {
					name = append(name, letters[random.IntN(len(letters))])
				}
				rule.SecurityGroups = append(rule.SecurityGroups, string(name))
			}
			s.Rules = append(s.Rules, rule)
		}
		spec.SecurityGroups = append(spec.SecurityGroups, s)
	}
}

const letters = "abcdefghijklmnopqrstuvwxyz0123456789"

// A client that asks for lists and takes no answer has all of them in the proxy's memory, also one that would have them compressed.
func TestHostile_answersThatAreNotTaken(t *testing.T) { //nolint:paralleltest // see above
	p := start(t, "GOMEMLIMIT=256MiB") // on a busy computer the collector comes late: what it may collect isn't what answers keep
	p.fill(p.hostile(0), 30)
	all := hostiletest.Message(&proxyv1.ListRequest{PageSize: 500})
	p.attack(15*time.Second, mostGrowth, func(ctx context.Context) {
		p.swarm(ctx, 1, 8, hostiletest.NoWindow, func(r *hostiletest.Raw) {
			r.EachCall(100, "ResourceGroups/List", func(stream uint32) { r.Send(stream, all, len(all), true) }, [2]string{"grpc-encoding", "gzip"})
			<-ctx.Done()
		})
	})
}

// The feed keeps changes, so that clients can continue from where they were: as many bytes as it may, not as many
// changes.
func TestHostile_changesOfLargeObjects(t *testing.T) { //nolint:paralleltest // see above
	p := start(t)
	c, ctx := testenv.Client(t), t.Context()
	g := &resourcev1.ResourceGroup{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace(t), Name: "largest"}}
	g.Spec.Network = &resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24}
	g.Spec.NetworkImplementationType = resourcev1.SoftwareNetwork
	large(&g.Spec, 16, 60)
	p.Expect(c.Create(ctx, g)).To(Succeed())
	before := p.memory()
	for n := range 80 {
		g.Spec.TenantIdentifier = fmt.Sprint(n)
		p.Expect(c.Update(ctx, g)).To(Succeed())
	}
	t.Logf("%.0f MB before, %.0f MB after 80 updates", before, p.memory())
	p.Expect(p.memory() - before).To(BeNumerically("<", 100))
}

// cut off after so many bytes that are sent.
type cut struct {
	net.Conn
	left int
}

func (c *cut) Write(data []byte) (int, error) {
	n, err := c.Conn.Write(data[:min(len(data), c.left)])
	if c.left -= n; c.left == 0 && err == nil {
		err = io.ErrShortWrite
	}
	return n, err
}

// A client without a certificate of ours can send one that doesn't end, as large as TLS allows.
func TestHostile_unfinishedHandshakes(t *testing.T) { //nolint:paralleltest // see above
	p := start(t)
	stranger := p.tenant(p.hostile(0))
	for range 550 {
		stranger.Certificates[0].Certificate = append(stranger.Certificates[0].Certificate, make([]byte, 400))
	}
	stranger.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &stranger.Certificates[0], nil }
	p.attack(10*time.Second, 100, func(ctx context.Context) {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 300 {
					conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.address)
					if err != nil {
						return
					}
					context.AfterFunc(ctx, func() { _ = conn.Close() })
					config := stranger.Clone()
					config.ServerName, _, _ = net.SplitHostPort(p.address)
					_ = tls.Client(&cut{conn, 210 << 10}, config).HandshakeContext(ctx) // it ends in the middle
				}
			})
		}
		all.Wait()
	})
}

// A message that begins has to come, however slowly its client sends.
func TestHostile_slowMessages(t *testing.T) {
	t.Parallel()
	p := start(t)
	r, err := p.raw(t.Context(), p.tenant(p.hostile(0)))
	p.Expect(err).NotTo(HaveOccurred())
	stream, ok := r.Open("ResourceGroups/Create", "")
	p.Expect(ok).To(BeTrue())
	watch, ok := r.Open("ResourceGroups/Watch", "")
	p.Expect(ok).To(BeTrue())
	whole := hostiletest.Message(&proxyv1.WatchRequest{})
	p.Expect(r.Send(watch, whole, len(whole), true)).To(BeTrue())
	open := func(stream uint32) func() bool {
		return func() bool {
			r.Send(stream, []byte{0}, 1, false)
			return r.IsOpen(stream)
		}
	}
	r.Send(stream, hostiletest.Unfinished(1000)[:5], 5, false)
	p.Eventually(open(stream), 20*time.Second, 500*time.Millisecond).Should(BeFalse())
	p.Expect(r.IsOpen(watch)).To(BeTrue(), "its message has come")
	p.Expect(r.Over()).To(BeFalse())
}
