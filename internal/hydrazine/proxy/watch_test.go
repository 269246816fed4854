package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/api/hydrazine/proxy/client"
	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/proxy"
	"github.com/bedplate/bedplate/internal/testenv"
)

func itoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// wire is the way to the API server, which can be cut.
type wire struct {
	mutex sync.Mutex
	cut   error // what dialling it says then
	open  map[net.Conn]struct{}
	made  int
	lost  int // attempts while it was cut
}

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.cut != nil {
		w.lost++
		return nil, fmt.Errorf("dial the wire to %s: %w", address, w.cut)
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		w.open[connection] = struct{}{}
		w.made++
	}
	return connection, err
}

func (w *wire) set(cut error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.cut = cut
	for connection := range w.open {
		_ = connection.Close()
		delete(w.open, connection)
	}
}

func (w *wire) attempts() int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.lost
}

func newWire() *wire { return &wire{open: map[net.Conn]struct{}{}} }

func (f *fixture) createGroup(c *client.Client, name string) {
	f.t.Helper()
	_, err := c.ResourceGroups.Create(f.t.Context(), &proxyv1.CreateResourceGroupRequest{Name: name, Spec: network()})
	f.Expect(err).NotTo(HaveOccurred())
}

type groupStream = grpc.ServerStreamingClient[proxyv1.WatchResourceGroupsResponse]

// next event of a stream, in short, and the version after it.
func (f *fixture) next(stream groupStream) (string, string) {
	f.t.Helper()
	e, err := stream.Recv()
	f.Expect(err).NotTo(HaveOccurred())
	return fmt.Sprint(e.GetType().String()[len("EVENT_TYPE_"):], " ", e.GetResourceGroup().GetMetadata().GetName()), e.GetResourceVersion()
}

func (f *fixture) watchGroups(c *client.Client, version string) groupStream {
	f.t.Helper()
	stream, err := c.ResourceGroups.Watch(f.t.Context(), &proxyv1.WatchRequest{ResourceVersion: version})
	f.Expect(err).NotTo(HaveOccurred())
	return stream
}

// The client's watch continues while the proxy's to the API server is away, and neither misses nor repeats anything.
// If the API server can't be reached, the proxy's continues from where it was; after any other error it lists again.
func TestWatch_survivesTheLossOfTheAPIServer(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]error{"refused": syscall.ECONNREFUSED, "lost": syscall.EHOSTUNREACH} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, blue := newWire(), tenant("blue")
			f := newFixture(t, func(c *rest.Config, _ *proxy.Config) { c.Dial = w.dial })
			beside, c := newFixture(t).as(blue), f.as(blue) // another replica, whose CA is another one too
			f.createGroup(c, "one")
			var stream groupStream
			f.Eventually(func() string { // the feed may be a moment behind
				stream = f.watchGroups(c, "")
				what, _ := f.next(stream)
				return what
			}, patience).Should(Equal("ADDED one"))
			what, version := f.next(stream)
			f.Expect(what).To(Equal("BOOKMARK "))
			f.Expect(version).NotTo(BeEmpty())

			w.set(cut)
			_, err := c.ResourceGroups.Get(t.Context(), &proxyv1.GetRequest{Name: "one"})
			f.Expect(code(err)).To(Equal(codes.Unavailable))
			f.Expect(detail[*errdetails.RetryInfo](err).GetRetryDelay().AsDuration()).To(BeNumerically(">", 0))
			f.Expect(err.Error()).NotTo(ContainSubstring("wire"), "what is between proxy and API server isn't the client's to know")
			f.createGroup(beside, "two")
			_, err = beside.ResourceGroups.Delete(t.Context(), &proxyv1.DeleteRequest{Name: "one"})
			f.Expect(err).NotTo(HaveOccurred())
			w.set(nil)
			heard := []string{}
			for range 2 {
				what, version = f.next(stream)
				heard = append(heard, what)
			}
			f.Expect(heard).To(ConsistOf("ADDED two", "DELETED one"))
			if version == "" {
				what, version = f.next(stream)
				f.Expect(what).To(Equal("BOOKMARK "))
			}
			f.createGroup(beside, "three")
			what, _ = f.next(stream)
			f.Expect(what).To(Equal("ADDED three"))

			// And from where another stream has ended.
			what, _ = f.next(f.watchGroups(c, version))
			f.Expect(what).To(Equal("ADDED three"))
		})
	}
}

// asked counts how often a proxy asks the API server for the newest version, and holds back the answers until the test
// releases them.
type asked struct {
	http.RoundTripper
	times  *atomic.Int32
	answer <-chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (a asked) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("limit") == "1" {
		a.times.Add(1)
		<-a.answer
	}
	return a.RoundTripper.RoundTrip(r)
}

// However many clients watch, the API server is asked once.
func TestWatch_ofManyClientsIsOne(t *testing.T) {
	t.Parallel()
	w, times, answer := newWire(), &atomic.Int32{}, make(chan struct{})
	f := newFixture(t, func(a *rest.Config, c *proxy.Config) {
		a.Dial, c.TenantWatches = w.dial, 300
		a.Wrap(func(next http.RoundTripper) http.RoundTripper { return asked{next, times, answer} })
	})
	blue := tenant("blue")
	c, second := f.as(blue), f.as(blue)
	testenv.Namespace(t) // of which the feed hears nothing
	list, err := c.ResourceGroups.List(t.Context(), &proxyv1.ListRequest{})
	f.Expect(err).NotTo(HaveOccurred())
	streams := make([]groupStream, 300)
	for i := range streams {
		streams[i] = f.watchGroups([]*client.Client{c, second}[i%2], list.GetResourceVersion())
	}
	close(answer)
	f.createGroup(c, "web")
	for _, stream := range streams {
		what, _ := f.next(stream)
		f.Expect(what).To(Equal("ADDED web"))
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	f.Expect(w.made).To(BeNumerically("<=", 2), "connections to the API server")
	f.Expect(times.Load()).To(BeNumerically("<=", 1), "for what the list was ahead of the feed")

	_, err = f.watchGroups(c, "").Recv()
	f.Expect(code(err)).To(Equal(codes.ResourceExhausted), "a tenant has a number of them")
}

func TestWatch_hearsNothingOfOthers(t *testing.T) {
	t.Parallel()
	f, blue, red := newFixture(t), tenant("blue"), tenant("red")
	list, err := f.as(blue).ResourceGroups.List(t.Context(), &proxyv1.ListRequest{})
	f.Expect(err).NotTo(HaveOccurred())
	stream := f.watchGroups(f.as(blue), list.GetResourceVersion())
	everybody, err := f.as(operators).ResourceGroups.Watch(t.Context(), &proxyv1.WatchRequest{Tenant: "-", ResourceVersion: list.GetResourceVersion()})
	f.Expect(err).NotTo(HaveOccurred())
	f.createGroup(f.as(red), "reds")
	f.createGroup(f.as(blue), "blues")
	what, _ := f.next(stream)
	f.Expect(what).To(Equal("ADDED blues"))
	seen := map[string]bool{}
	for !seen["reds"] || !seen["blues"] { // among those of other tests
		e, err := everybody.Recv()
		f.Expect(err).NotTo(HaveOccurred())
		seen[e.GetResourceGroup().GetMetadata().GetName()] = true
	}
}

// A tenant's public addresses come and go with its hosts.
func TestWatch_ofPublicIPsFollowsTheirHosts(t *testing.T) {
	t.Parallel()
	f, blue, name := newFixture(t), tenant("blue"), tenant("ip")
	n := counter.Add(1)
	_, err := f.as(operators).PublicIPs.Create(t.Context(), &proxyv1.CreatePublicIPRequest{
		Name: name, Spec: &proxyv1.PublicIPSpec{IpAddress: "203.1." + itoa(n/250) + "." + itoa(1+n%250)}})
	f.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		f.Expect(testenv.Client(t).Delete(context.Background(), &networkfabricv1.PublicIP{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	})
	stream, err := f.as(blue).PublicIPs.Watch(t.Context(), &proxyv1.WatchRequest{})
	f.Expect(err).NotTo(HaveOccurred())
	for _, expected := range []proxyv1.EventType{
		proxyv1.EventType_EVENT_TYPE_BOOKMARK, proxyv1.EventType_EVENT_TYPE_ADDED, proxyv1.EventType_EVENT_TYPE_DELETED,
	} {
		e, err := stream.Recv()
		f.Expect(err).NotTo(HaveOccurred())
		f.Expect(e.GetType()).To(Equal(expected))
		switch expected {
		case proxyv1.EventType_EVENT_TYPE_BOOKMARK:
			f.allocate(name, blue)
		case proxyv1.EventType_EVENT_TYPE_ADDED:
			f.allocate(name, "red")
		default:
			f.Expect(e.GetPublicIp().GetMetadata().GetTenant()).To(Equal(blue), "whose it is now isn't the tenant's to know")
		}
	}
}

func TestWatch_saysWhenToListAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.as(tenant("blue"))
	_, err := f.watchGroups(c, "1").Recv()
	f.Expect(code(err)).To(Equal(codes.OutOfRange))
	f.Expect(detail[*errdetails.ErrorInfo](err).GetReason()).To(Equal("LIST_AGAIN"))

	// As one from before the API server was restored from a backup.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := c.ResourceGroups.Watch(ctx, &proxyv1.WatchRequest{ResourceVersion: "1000000000"})
	f.Expect(err).NotTo(HaveOccurred())
	_, err = stream.Recv()
	f.Expect(code(err)).To(Equal(codes.OutOfRange))
	f.Expect(detail[*errdetails.ErrorInfo](err).GetReason()).To(Equal("LIST_AGAIN"))
	f.Expect(err).To(MatchError(ContainSubstring("that version doesn't exist yet")))
	for _, wrong := range []string{"x", "-1", "1e9", "99999999999999999999999"} {
		_, err := f.watchGroups(c, wrong).Recv()
		f.Expect(code(err)).To(Equal(codes.InvalidArgument), wrong)
	}
}

// A certificate is the word of the authority for a time, on connections that are there too.
func TestWatch_endsWithTheCertificate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	brief := organized(tenant("blue"))
	brief.Validity = 15 * time.Second // longer than it takes to connect
	c, err := client.Dial(f.address, f.files(brief), grpc.WithDisableRetry())
	f.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = c.Close() })
	stream := f.watchGroups(c, "")
	what, _ := f.next(stream)
	f.Expect(what).To(Equal("BOOKMARK "))
	_, err = stream.Recv()
	f.Expect(err).To(MatchError(io.EOF))
	f.Eventually(func() codes.Code {
		_, err := c.ResourceGroups.List(t.Context(), &proxyv1.ListRequest{})
		return code(err)
	}, patience).Should(Equal(codes.Unauthenticated))
}

func TestStop_letsClientsGoOnElsewhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	stream := f.watchGroups(f.as(tenant("blue")), "")
	what, _ := f.next(stream)
	f.Expect(what).To(Equal("BOOKMARK "))
	f.stop()
	_, err := stream.Recv()
	f.Expect(code(err)).To(Equal(codes.Unavailable))
	f.Expect(err).To(MatchError(ContainSubstring("watch again from the last version")))
}
