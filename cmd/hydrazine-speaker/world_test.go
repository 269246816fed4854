package main

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
	"github.com/bedplate/bedplate/internal/localstack/fabric/frr"
	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Program(main); testenv.Main(m) }

const (
	patience = 30 * time.Second
	// look is how often a condition is looked at that is waited for: to ask a router takes four processes.
	look = 200 * time.Millisecond

	speakers, routers = 64512, 65000 // autonomous systems

	router  = "172.18.0.1" // the fabric's, that speaks BGP
	router6 = "fd00:18::1"
	hop     = "172.18.0.105" // the fabric IP of a host
	hop6    = "fd00:18::105"
	hop2    = "172.18.0.106" // that of another one

	namespace = "bedplate-hydrazine-speaker"
	// account is that of config/hydrazine-speaker/rbac.
	account = "system:serviceaccount:" + namespace + ":bedplate-hydrazine-speaker"
)

// addressOf speaker N.
func addressOf(n int) string { return fmt.Sprintf("172.18.0.1%d", n) }

// world is a fabric whose router is FRR, with speakers on two servers, a host, and the internet. PublicIPs belong to the
// cluster, so there is one world at a time.
type world struct {
	testing.TB
	*WithT
	client        client.WithWatch
	fabric        *fabric.Fabric
	dir           string
	router        *frr.Router
	configuration string
	api           []*fabric.Forwarder // of the speakers' machines to the API server
}

var (
	worlds atomic.Int32
	rights sync.Once // all speakers have the same account
)

func addrs(all ...string) (parsed []netip.Addr) {
	for _, a := range all {
		parsed = append(parsed, netip.MustParseAddr(a))
	}
	return parsed
}

func prefixes(all ...string) (parsed []netip.Prefix) {
	for _, p := range all {
		parsed = append(parsed, netip.MustParsePrefix(p))
	}
	return parsed
}

func newWorld(t testing.TB, neighbors ...frr.Neighbor) *world {
	t.Helper()
	fabrictest.Require(t)
	toolstest.Need(t, frr.Check())
	w := &world{TB: t, WithT: NewWithT(t), client: testenv.Client(t), dir: fabrictest.Dir(t), configuration: fmt.Sprintf("world%d", worlds.Add(1))}
	w.SetDefaultEventuallyPollingInterval(look)
	rights.Do(func() { testenv.Kubectl(t, "apply", "-k", "../../config/hydrazine-speaker/rbac") })
	w.fabric = fabrictest.Up(t, fabric.Topology{Subnets: []fabric.Subnet{
		{
			Name: "rack", Gateways: prefixes(router+"/24", router6+"/64"),
			Servers: []fabric.Server{
				{Name: "speaker1", Addresses: addrs(addressOf(1), "fd00:18::11")},
				{Name: "speaker2", Addresses: addrs(addressOf(2), "fd00:18::12")},
				{Name: "leaf", Addresses: addrs("172.18.0.2")},
				{Name: "host", Addresses: addrs(hop, hop6)},
			},
		},
		{Name: "internet", Gateways: prefixes("198.51.100.1/24"), Servers: []fabric.Server{{Name: "internet", Addresses: addrs("198.51.100.10")}}},
	}})
	if neighbors == nil {
		neighbors = []frr.Neighbor{{Address: addrs(addressOf(1))[0], ASN: speakers}, {Address: addrs(addressOf(2))[0], ASN: speakers}}
	}
	w.router = w.frr(fabric.Router, routers, router, neighbors...)
	w.apiServer("speaker1", "speaker2")
	t.Cleanup(w.cleanUp)
	return w
}

func (w *world) frr(node string, asn uint32, id string, neighbors ...frr.Neighbor) *frr.Router {
	w.Helper()
	r, err := frr.Start(w.Context(), w.fabric, node, w.dir, frr.Config{ASN: asn, RouterID: netip.MustParseAddr(id), Neighbors: neighbors})
	w.Expect(err).NotTo(HaveOccurred())
	return r
}

// apiServer is reached from the speakers' machines at the same address as from here.
func (w *world) apiServer(nodes ...string) {
	w.Helper()
	server, err := url.Parse(testenv.Config(w.TB).Host)
	w.Expect(err).NotTo(HaveOccurred())
	at := netip.MustParseAddrPort(server.Host)
	for _, node := range nodes {
		forwarder, err := w.fabric.Forward(node, at, fabric.Root, at)
		w.Expect(err).NotTo(HaveOccurred())
		w.api = append(w.api, forwarder)
	}
}

func (w *world) cleanUp() {
	if w.Failed() {
		logs, _ := filepath.Glob(filepath.Join(w.dir, "*.log"))
		more, _ := filepath.Glob(filepath.Join(w.dir, "*", "bgpd.log"))
		for _, log := range append(logs, more...) {
			w.Logf("%s:\n%s", log, process.Tail(log, 30))
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w.Expect(w.client.DeleteAllOf(ctx, &networkfabricv1.PublicIP{})).To(Succeed())
	w.Expect(w.client.DeleteAllOf(ctx, &networkfabricv1.BGPConfiguration{})).To(Succeed())
}

// configure makes the BGPConfiguration, or changes it. Without a change the router is the only neighbor.
func (w *world) configure(change ...func(*networkfabricv1.BGPConfigurationSpec)) {
	w.Helper()
	c := &networkfabricv1.BGPConfiguration{}
	w.Expect(client.IgnoreNotFound(w.client.Get(w.Context(), client.ObjectKey{Name: w.configuration}, c))).To(Succeed())
	missing := c.Name == ""
	if missing {
		c.Name = w.configuration
		c.Spec = networkfabricv1.BGPConfigurationSpec{
			ASN: speakers, RestartTime: &metav1.Duration{Duration: 30 * time.Second},
			Neighbors: []networkfabricv1.BGPNeighbor{neighbor(router)},
		}
	}
	before := c.DeepCopy()
	for _, each := range change {
		each(&c.Spec)
	}
	if missing {
		w.Expect(w.client.Create(w.Context(), c)).To(Succeed())
	} else { // speakers write the status meanwhile
		w.Expect(w.client.Patch(w.Context(), c, client.MergeFrom(before))).To(Succeed())
	}
}

func neighbor(address string) networkfabricv1.BGPNeighbor {
	return networkfabricv1.BGPNeighbor{
		Address: resourcev1.IPAddress(address), ASN: routers, HoldTime: &metav1.Duration{Duration: 9 * time.Second},
	}
}

// speaker starts number N.
func (w *world) speaker(n int) *process.Process {
	w.Helper()
	return w.run(os.Args[0], n)
}

func (w *world) run(program string, n int) *process.Process {
	w.Helper()
	node := fmt.Sprintf("speaker%d", n)
	p, err := w.fabric.Start(node, process.Command{
		Name: node, Path: program, Env: []string{testenv.AsProgram}, Log: filepath.Join(w.dir, node+".log"),
		Args: []string{
			"--kubeconfig", w.kubeconfig(), "--name", w.name(n), "--speaker-namespace", namespace, "--configuration", w.configuration,
			"--metrics-addr", "0", "--health-addr", "127.0.0.1:9440", "--poll-interval", "1s",
		},
	})
	w.Expect(err).NotTo(HaveOccurred())
	w.Cleanup(p.Kill)
	return p
}

// name of speaker N, which no other test's speaker has.
func (w *world) name(n int) string { return fmt.Sprintf("%s-speaker%d", w.configuration, n) }

func (w *world) kubeconfig() string {
	w.Helper()
	path := testenv.KubeconfigOf(w.TB, account, "system:serviceaccounts", "system:authenticated")
	_, err := clientcmd.LoadFromFile(path)
	w.Expect(err).NotTo(HaveOccurred())
	return path
}

// publicIP makes one that has to be announced.
func (w *world) publicIP(address, nextHop string) *networkfabricv1.PublicIP {
	w.Helper()
	ip := &networkfabricv1.PublicIP{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "ip-"}, Spec: networkfabricv1.PublicIPSpec{IPAddress: resourcev1.IPAddress(address)},
	}
	w.Expect(w.client.Create(w.Context(), ip)).To(Succeed())
	w.setNextHop(ip, nextHop)
	return ip
}

func (w *world) setNextHop(ip *networkfabricv1.PublicIP, nextHop string) {
	w.Helper()
	before := ip.DeepCopy()
	ip.Status.NextHop = resourcev1.IPAddress(nextHop)
	w.Expect(w.client.Status().Patch(w.Context(), ip, client.MergeFrom(before))).To(Succeed())
}

// setFinalizers of a PublicIP: it stays until the last one is gone.
func (w *world) setFinalizers(ip *networkfabricv1.PublicIP, finalizers ...string) {
	w.Helper()
	before := ip.DeepCopy()
	ip.Finalizers = finalizers
	w.Expect(w.client.Patch(w.Context(), ip, client.MergeFrom(before))).To(Succeed())
}

// announcedBy returns the names in a PublicIP.
func (w *world) announcedBy(ip *networkfabricv1.PublicIP) func() ([]string, error) {
	return func() ([]string, error) {
		now := &networkfabricv1.PublicIP{}
		err := w.client.Get(w.Context(), client.ObjectKeyFromObject(ip), now)
		return now.Status.AnnouncedBy, err
	}
}

// routes of the router: the next hops by prefix and neighbor.
func (w *world) routes() (map[string]map[string]string, error) {
	return nextHops(w.Context(), w.router)
}

func nextHops(ctx context.Context, r *frr.Router) (map[string]map[string]string, error) {
	all, err := r.Routes(ctx)
	found := map[string]map[string]string{}
	for prefix, paths := range all {
		found[prefix] = map[string]string{}
		for _, p := range paths {
			if !p.Stale {
				found[prefix][p.From] = p.NextHop
			}
		}
	}
	return found, err
}

func by(neighbor, nextHop string) map[string]string { return map[string]string{neighbor: nextHop} }

// session that speaker N says it has with a neighbor.
func (w *world) session(n int, neighbor string) func() (networkfabricv1.BGPSession, error) {
	return func() (networkfabricv1.BGPSession, error) {
		c := &networkfabricv1.BGPConfiguration{}
		err := w.client.Get(w.Context(), client.ObjectKey{Name: w.configuration}, c)
		for _, s := range c.Status.Speakers {
			for _, session := range s.Sessions {
				if s.Name == w.name(n) && string(session.Neighbor) == neighbor {
					return session, nil
				}
			}
		}
		return networkfabricv1.BGPSession{}, err
	}
}

func (w *world) established(n int, neighbor string) {
	w.Helper()
	w.Eventually(w.session(n, neighbor)).WithTimeout(patience).Should(And(
		HaveField("State", "Established"), HaveField("Message", ""), HaveField("Since", Not(BeNil()))))
}

func (w *world) secret(name, password string) {
	w.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{"password": password},
	}
	err := w.client.Create(w.Context(), secret)
	if apierrors.IsAlreadyExists(err) {
		err = w.client.Update(w.Context(), secret)
	}
	w.Expect(err).NotTo(HaveOccurred())
	w.Cleanup(func() {
		w.Expect(client.IgnoreNotFound(w.client.Delete(context.Background(), secret))).To(Succeed())
	})
}

// watchRoute reports each time that a node's kernel has no way to a prefix any more, until the test ends.
func (w *world) watchRoute(node, prefix string) (lost *atomic.Int32) {
	w.Helper()
	lost = &atomic.Int32{}
	updates, done := make(chan netlink.RouteUpdate, 1024), make(chan struct{})
	w.Cleanup(func() { close(done) })
	w.Expect(w.fabric.Do(node, func() error { return netlink.RouteSubscribe(updates, done) })).To(Succeed())
	go func() {
		for update := range updates {
			if update.Type == unix.RTM_DELROUTE && update.Dst != nil && update.Dst.String() == prefix {
				lost.Add(1)
			}
		}
	}()
	return lost
}

// giveAddress puts a public IP onto the host, as the DPU's translation would.
func (w *world) giveAddress(address string) {
	w.Helper()
	w.Expect(w.fabric.Do("host", func() error {
		link, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		parsed, err := netlink.ParseAddr(address + "/32")
		if err != nil {
			return err
		}
		return netlink.AddrAdd(link, parsed)
	})).To(Succeed())
}

// killConnections of a node's BGP sessions, without notification.
func (w *world) killConnections(node string) {
	w.Helper()
	out, err := w.fabric.Command(w.Context(), node, "ss", "--kill", "state", "established", "dport", "=", "179").CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), "%s", out)
}
