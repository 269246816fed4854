package proxy_test

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	kubernetes "sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/api/hydrazine/proxy/client"
	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/proxy"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestClient_repeatsWhatIsUnavailable(t *testing.T) {
	t.Parallel()
	w := newWire()
	f := newFixture(t, func(c *rest.Config, _ *proxy.Config) { c.Dial = w.dial })
	c, err := client.Dial(f.address, f.files(organized("blue")))
	f.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.ResourceGroups.Get(t.Context(), &proxyv1.GetRequest{Name: "none"})
	f.Expect(code(err)).To(Equal(codes.NotFound))
	w.set(syscall.ECONNREFUSED)
	answered := make(chan error, 1)
	go func() {
		_, err := c.ResourceGroups.Get(t.Context(), &proxyv1.GetRequest{Name: "none"})
		answered <- err
	}()
	f.Eventually(w.attempts, patience).Should(BeNumerically(">=", 1))
	w.set(nil)
	f.Eventually(answered, patience).Should(Receive(&err))
	f.Expect(code(err)).To(Equal(codes.NotFound))
}

// A renewal of the certificate needs no signal to the client.
func TestClient_readsItsFilesForEachConnection(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWire()
	blue, red := tenant("blue"), tenant("red")
	files := f.files(organized(blue))
	c, err := client.Dial("passthrough:///"+f.address, files, grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		return w.dial(ctx, "tcp", address)
	}))
	f.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = c.Close() })
	create := func() string {
		group, err := c.ResourceGroups.Create(t.Context(), &proxyv1.CreateResourceGroupRequest{Name: "web", Spec: network()})
		f.Expect(err).NotTo(HaveOccurred())
		return group.GetMetadata().GetTenant()
	}
	f.Expect(create()).To(Equal(blue))
	renewed := f.files(organized(red))
	f.Expect(os.Rename(renewed.Certificate, files.Certificate)).To(Succeed())
	f.Expect(os.Rename(renewed.Key, files.Key)).To(Succeed())
	f.Expect(create()).To(Equal(blue), "the connection goes on")
	w.set(nil)
	f.Eventually(create, patience).Should(Equal(red))

	_, err = client.Dial(f.address, client.Files{Certificate: "none", Key: "none", Authorities: "none"})
	f.Expect(err).To(MatchError(ContainSubstring("read the certificate: open none")))
}

// A wait that doesn't reach the proxy says why.
func TestWait_saysWhyNothingIsKnown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c, err := client.Dial("passthrough:///"+f.address, f.files(organized("blue")), grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
		return nil, errors.New("there is no way")
	}))
	f.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = c.Close() })
	// Each call is tried five times before it says why it fails.
	longer, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	_, err = c.WaitResourceGroup(longer, "", "web")
	f.Expect(err).To(And(MatchError(ContainSubstring("web isn't ready")), MatchError(ContainSubstring("there is no way")), MatchError(context.DeadlineExceeded)))
}

// conditions that say of a generation that the object is ready.
func readyAt(generation int64, reason string) []metav1.Condition {
	return []metav1.Condition{{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: generation, LastTransitionTime: metav1.Now(),
	}}
}

// waits checks that a wait with a deadline ends with an error that says why, and then, once the condition is met, without one.
func (f *fixture) waits(wait func(context.Context) error, why string, end func()) {
	f.t.Helper()
	f.Eventually(func() error { // the first call makes the connection
		short, cancel := context.WithTimeout(f.t.Context(), 3*time.Second)
		defer cancel()
		return wait(short)
	}, patience).Should(MatchError(ContainSubstring("isn't ready: " + why)))
	ended := make(chan error, 1)
	go func() { ended <- wait(f.t.Context()) }()
	f.Consistently(ended, 300*time.Millisecond).ShouldNot(Receive())
	end()
	f.Eventually(ended, patience).Should(Receive(Succeed()))
}

func TestWait_isForTheLatestChange(t *testing.T) {
	t.Parallel()
	f, ctx, blue := newFixture(t), t.Context(), tenant("blue")
	c, admin, group := f.as(blue), testenv.Client(t), &resourcev1.ResourceGroup{}
	f.createGroup(c, "web")
	say := func(generation int64) {
		f.Expect(admin.Get(ctx, kubernetes.ObjectKey{Namespace: blue, Name: "web"}, group)).To(Succeed())
		group.Status.Conditions = readyAt(generation, "AsWanted")
		f.Expect(admin.Status().Update(ctx, group)).To(Succeed())
	}
	wait := func(ctx context.Context) error {
		_, err := c.WaitResourceGroup(ctx, "", "web")
		return err
	}
	f.waits(wait, "no controller has seen it yet", func() { say(1) })
	read, err := c.ResourceGroups.Get(ctx, &proxyv1.GetRequest{Name: "web"})
	f.Expect(err).NotTo(HaveOccurred())
	read.Spec.DhcpServer = "172.19.0.10"
	_, err = c.ResourceGroups.Update(ctx, &proxyv1.UpdateResourceGroupRequest{
		Name: "web", Spec: read.GetSpec(), ResourceVersion: read.GetMetadata().GetResourceVersion()})
	f.Expect(err).NotTo(HaveOccurred())
	f.waits(wait, "its latest change hasn't been seen yet", func() { say(2) })
}

// An address is ready while it is free. That says nothing about it once a host has it.
func TestWaitPublicIP_isForItsHost(t *testing.T) {
	t.Parallel()
	f, ctx, name := newFixture(t), t.Context(), tenant("ip")
	blue, admin, ip, n := tenant("blue"), testenv.Client(t), &networkfabricv1.PublicIP{}, counter.Add(1)
	_, err := f.as(operators).PublicIPs.Create(ctx, &proxyv1.CreatePublicIPRequest{
		Name: name, Spec: &proxyv1.PublicIPSpec{IpAddress: "203.2." + itoa(n/250) + "." + itoa(1+n%250)}})
	f.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { f.Expect(admin.Delete(context.Background(), ip)).To(Succeed()) })
	say := func(change func(*networkfabricv1.PublicIPStatus)) {
		f.Expect(admin.Get(ctx, kubernetes.ObjectKey{Name: name}, ip)).To(Succeed())
		change(&ip.Status)
		f.Expect(admin.Status().Update(ctx, ip)).To(Succeed())
	}
	wait := func(c *client.Client) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.WaitPublicIP(ctx, "", name)
			return err
		}
	}
	say(func(s *networkfabricv1.PublicIPStatus) { s.Conditions = readyAt(0, "Available") })
	f.waits(wait(f.as(operators)), "its latest change hasn't been seen yet", func() {
		say(func(s *networkfabricv1.PublicIPStatus) { s.Conditions = readyAt(1, "Available") })
	})
	f.allocate(name, blue)
	f.waits(wait(f.as(blue)), "a host has it, and it isn't announced yet", func() {
		say(func(s *networkfabricv1.PublicIPStatus) {
			s.NextHop, s.AnnouncedBy, s.Conditions = "172.18.0.105", []string{"a"}, readyAt(1, "Announced")
		})
	})
}
