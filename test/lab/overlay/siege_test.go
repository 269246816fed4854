package overlay_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
	"github.com/bedplate/bedplate/internal/hydrazine/hostiletest"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/overlay"
	"github.com/bedplate/bedplate/internal/localstack/process/processtest"
	"github.com/bedplate/bedplate/internal/mtls"
	"github.com/bedplate/bedplate/internal/soaktest"
)

// attacker does the same again and again, with a pause of up to rest after each.
type attacker struct {
	name   string
	copies int
	rest   time.Duration
	once   func(ctx context.Context, random *rand.Rand)
}

// siege is all attackers.
type siege struct {
	*stack
	seed      uint64
	attackers []attacker
	begun     uint64
	villain   *villain
	liars     []*agentstest.Agent
}

// during sends all attackers while something continues, and returns when all have stopped.
func (s *siege) during(ctx context.Context, while func(ctx context.Context)) {
	attack, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, a := range s.attackers {
		for range a.copies {
			s.begun++
			random := rand.New(rand.NewPCG(s.seed, s.begun))
			all.Go(func() {
				for attack.Err() == nil {
					once, cancel := context.WithTimeout(attack, 20*time.Second)
					a.once(once, random)
					cancel()
					soaktest.Rest(attack, time.Duration(random.Int64N(int64(a.rest))))
				}
			})
		}
	}
	while(ctx)
	stop()
	all.Wait()
	for n, agent := range s.liars {
		agent.Refuse(nil)
		agent.Say(func(r *agentstest.Said) { honest(r, n) })
	}
}

// honest makes a report as the real agent of that number would.
func honest(r *agentstest.Said, n int) {
	r.Chassis, r.OvnController = fmt.Sprintf("liar%d", n), &agentv1.OVNController{Running: true, Connected: true}
	r.GetUplink().OtherAddresses, r.GetUplink().Gateways = nil, []string{"10.20.0.1"}
	r.GetPorts()[0].Up = true
}

// connect to an address from a node, by an address of the node's own if it matters which.
func (s *siege) connect(ctx context.Context, from, own, to string) (connection net.Conn, err error) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	if own != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(own)}
	}
	err = s.Do(from, func() error {
		connection, err = dialer.DialContext(ctx, "tcp", to)
		return err
	})
	return connection, err
}

// againstProxy is a tenant that tries all that the proxy's own soak does.
func (s *siege) againstProxy(tenant string) func(ctx context.Context, random *rand.Rand) {
	files, err := s.CertifyTenant(tenant)
	s.Expect(err).NotTo(HaveOccurred())
	certificate, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
	s.Expect(err).NotTo(HaveOccurred())
	authorities, err := os.ReadFile(files.Authorities)
	s.Expect(err).NotTo(HaveOccurred())
	config := &tls.Config{RootCAs: x509.NewCertPool(), NextProtos: []string{"h2"}, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13}
	s.Expect(config.RootCAs.AppendCertsFromPEM(authorities)).To(BeTrue())
	names := slices.Sorted(maps.Keys(hostiletest.AgainstProxy))
	dial := func(ctx context.Context) (net.Conn, error) {
		return s.connect(ctx, fabric.DC, "", s.ProxyAddress().String())
	}
	return func(ctx context.Context, random *rand.Rand) {
		hostiletest.AgainstProxy[names[random.IntN(len(names))]](ctx, dial, config, random)
	}
}

// againstAgents is a machine of the data centre that says nothing or nonsense to agents, or shows a tenant's certificate.
func (s *siege) againstAgents(tenant string) func(ctx context.Context, random *rand.Rand) {
	identity, err := s.CertifyTenant(tenant)
	s.Expect(err).NotTo(HaveOccurred())
	wrong := mtls.Files{Certificate: identity.Certificate, Key: identity.Key, Authorities: identity.Authorities}
	creds, err := wrong.Client(s.t.Context(), nil)
	s.Expect(err).NotTo(HaveOccurred())
	dpus := s.Topology().DPUs()
	return func(ctx context.Context, random *rand.Rand) {
		address := dpus[random.IntN(len(dpus))].Addresses[0]
		connection, err := s.connect(ctx, fabric.DC, "", netip.AddrPortFrom(address, 9660).String())
		if err != nil {
			return
		}
		if random.IntN(4) > 0 {
			hostiletest.Bother(ctx, connection, random)
			return
		}
		defer connection.Close()
		if secured, _, err := creds.Clone().ClientHandshake(ctx, address.String(), connection); err == nil {
			_ = secured.SetDeadline(time.Now().Add(time.Second))
			_, _ = secured.Read(make([]byte, 1))
		}
	}
}

var listens = regexp.MustCompile(`--(?:webhook-port|metrics-addr|health-addr)=(\S+)`)

// againstManager is connections to all ports of the manager's and of the groups' databases. Webhooks, metrics and probes are on the
// manager's own machine here, so the attacker is another address of that.
func (s *siege) againstManager(groups ...*resourcev1.ResourceGroup) func(ctx context.Context, random *rand.Rand) {
	type port struct{ from, own, to string }
	var ports []port
	for _, line := range processtest.Mentioning(s.t, "--centrals-dir="+filepath.Join(s.dir, "ovn")) {
		for _, found := range listens.FindAllStringSubmatch(line, -1) {
			to := found[1]
			if !strings.Contains(to, ":") {
				to = "127.0.0.1:" + to
			}
			ports = append(ports, port{fabric.Control, "127.0.0.66", to})
		}
	}
	s.Expect(ports).To(HaveLen(3), "webhooks, metrics, probes")
	for _, group := range groups {
		_, to, _ := strings.Cut(group.Status.SoftwareNetworkConfiguration.Southbound, ":")
		ports = append(ports, port{fabric.DC, "", to})
	}
	return func(ctx context.Context, random *rand.Rand) {
		p := ports[random.IntN(len(ports))]
		if connection, err := s.connect(ctx, p.from, p.own, p.to); err == nil {
			hostiletest.Bother(ctx, connection, random)
		}
	}
}

// liars is a server that has agents without DPUs.
var liars = fabric.Server{Name: "sim", Addresses: []netip.Addr{netip.MustParseAddr("10.20.0.2"), netip.MustParseAddr("10.20.0.3")}}

// withLiars is a topology with that server.
func withLiars(t fabric.Topology) fabric.Topology {
	t.Subnets = append(t.Subnets, fabric.Subnet{
		Name: "row2", Gateways: []netip.Prefix{netip.MustParsePrefix("10.20.0.1/16")}, Servers: []fabric.Server{liars},
	})
	return t
}

// newLiar is an agent of a tenant's without a DPU.
func (s *siege) newLiar(n int, group *resourcev1.ResourceGroup) {
	own, name := liars.Addresses[n].String(), fmt.Sprintf("liar%d", n)
	identity, err := s.Certify(name, liars.Addresses[n])
	s.Expect(err).NotTo(HaveOccurred())
	files := mtls.Files{Certificate: identity.Certificate, Key: identity.Key, Authorities: identity.Authorities}
	creds, err := files.Server(s.t.Context(), mtls.Named(overlay.ManagerName))
	s.Expect(err).NotTo(HaveOccurred())
	var agent *agentstest.Agent
	s.Expect(s.Do(liars.Name, func() error {
		agent = agentstest.Start(s.t, own, 9660, agentstest.Report(name, own+"/16", "10.20.0.1"), grpc.Creds(creds))
		return nil
	})).To(Succeed())
	r := &resourcev1.ManagedResource{}
	r.Namespace, r.Name = group.Namespace, name
	r.Spec = resourcev1.ManagedResourceSpec{
		ResourceGroup: group.Name, HostIP: resourcev1.IPAddress(fmt.Sprintf("10.10.10.%d", 100+n)), HostAccess: resourcev1.FabricAccess,
		HostMAC: resourcev1.MACAddress(fmt.Sprintf("02:00:00:00:02:%02x", n)),
		DPUIPs:  []resourcev1.IPAddress{resourcev1.IPAddress(own), resourcev1.IPAddress(fmt.Sprintf("10.20.1.%d", 2+n))},
	}
	s.create(r)
	s.liars = append(s.liars, agent)
}

// lie once: about addresses of others, more of them than there may be, names, ports, gateways.
func (s *siege) lie(n int) func(ctx context.Context, random *rand.Rand) {
	agent := s.liars[n]
	others := []string{"172.18.0.1", "172.18.0.5", "172.18.0.105", s.server(fabric.DC), s.server(fabric.DHCP), s.server(fabric.Control), s.server(fabric.Proxy)}
	return func(_ context.Context, random *rand.Rand) {
		kind := random.IntN(7)
		agent.Refuse(nil)
		if kind == 6 {
			agent.Refuse(status.Error(codes.DeadlineExceeded, "it takes too long"))
		}
		agent.Say(func(r *agentstest.Said) {
			honest(r, n)
			uplink := r.GetUplink()
			r.Version = fmt.Sprint("v", random.Uint64())
			switch kind {
			case 0:
				uplink.OtherAddresses = others[random.IntN(len(others)):]
			case 1:
				for n := range 1 + random.IntN(12000) { // 256 KiB are refused by gRPC, 1025 addresses by the manager
					uplink.OtherAddresses = append(uplink.OtherAddresses, fmt.Sprintf("10.%d.%d.%d", 100+n>>16, n>>8&255, n&255))
				}
			case 2:
				r.Chassis = []string{"dpu1", "dpu3", "", "a b"}[random.IntN(4)]
			case 3:
				uplink.Gateways = others[random.IntN(len(others)):]
			case 4:
				r.GetPorts()[0].Up = false
			case 5:
				r.OvnController = &agentv1.OVNController{Running: random.IntN(2) == 0}
			}
		})
	}
}
