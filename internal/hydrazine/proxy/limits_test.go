package proxy_test

import (
	"errors"
	"net"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"k8s.io/client-go/rest"

	"github.com/bedplate/bedplate/api/hydrazine/proxy/client"
	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/proxy"
)

func TestLimits_ofOneTenantAreNotOfAnother(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ *rest.Config, c *proxy.Config) { c.TenantQPS, c.TenantBurst = 0.001, 3 })
	blue, red := f.as(tenant("blue")), f.as(tenant("red"))
	for range 3 {
		_, err := blue.ResourceGroups.List(t.Context(), &proxyv1.ListRequest{})
		f.Expect(err).NotTo(HaveOccurred())
	}
	for range 2 {
		_, err := blue.ResourceGroups.List(t.Context(), &proxyv1.ListRequest{})
		f.Expect(code(err)).To(Equal(codes.ResourceExhausted))
		f.Expect(detail[*errdetails.ErrorInfo](err).GetReason()).To(Equal("TOO_MANY_REQUESTS"))
		f.Expect(detail[*errdetails.RetryInfo](err).GetRetryDelay().AsDuration().Seconds()).To(BeNumerically("~", 1000, 50))
	}
	_, err := f.watchGroups(blue, "").Recv()
	f.Expect(code(err)).To(Equal(codes.ResourceExhausted))
	_, err = red.ResourceGroups.List(t.Context(), &proxyv1.ListRequest{})
	f.Expect(err).NotTo(HaveOccurred())
	for range 5 {
		_, err = f.as(operators).ResourceGroups.List(t.Context(), &proxyv1.ListRequest{Tenant: "-"})
		f.Expect(err).NotTo(HaveOccurred())
	}
}

// healthy returns what asks by a connection of its own how the proxy is, and what ends the connection.
func (f *fixture) healthy(organization string) (ask, end func() error) {
	connection := f.connect(organization)
	return func() error {
		_, err := grpc_health_v1.NewHealthClient(connection).Check(f.t.Context(), &grpc_health_v1.HealthCheckRequest{})
		return err
	}, connection.Close
}

func TestLimits_ofConnections(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ *rest.Config, c *proxy.Config) { c.TenantConnections = 2 })
	first, end := f.healthy("blue")
	second, _ := f.healthy("blue")
	third, _ := f.healthy("blue")
	f.Expect(first()).To(Succeed())
	f.Expect(second()).To(Succeed())
	f.Expect(third()).NotTo(Succeed())
	other, _ := f.healthy("red")
	f.Expect(other()).To(Succeed())
	for range 3 {
		operator, _ := f.healthy(operators)
		f.Expect(operator()).To(Succeed())
	}
	f.Expect(end()).To(Succeed())
	f.Eventually(third, patience).Should(Succeed(), "there is room again")
}

func TestLimits_ofAllConnections(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ *rest.Config, c *proxy.Config) { c.Connections, c.TenantConnections = 2, 1 })
	first, end := f.healthy("blue")
	second, _ := f.healthy(operators)
	third, _ := f.healthy("red")
	f.Expect(first()).To(Succeed())
	for range 3 {
		surplus, goAway := f.healthy("blue")
		f.Expect(surplus()).NotTo(Succeed())
		f.Expect(goAway()).To(Succeed())
	}
	f.Expect(second()).To(Succeed(), "what a tenant is refused isn't counted")
	f.Expect(third()).NotTo(Succeed())
	f.Expect(end()).To(Succeed())
	f.Eventually(third, patience).Should(Succeed(), "there is room again")
	fourth, _ := f.healthy("green")
	f.Expect(fourth()).NotTo(Succeed(), "what is refused gives nothing back")
}

// Clients that connect and send nothing, or a part, take no place of others, and are disconnected.
func TestLimits_ofThoseWhoSayNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ *rest.Config, c *proxy.Config) { c.Connections, c.TenantConnections = 2, 1 })
	silent := make([]net.Conn, 50)
	for i := range silent {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", f.address)
		f.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = connection.Close() })
		if i%2 > 0 { // a record of TLS' handshake, of which most is missing
			_, err = connection.Write([]byte{22, 3, 1, 2, 0, 1})
			f.Expect(err).NotTo(HaveOccurred())
		}
		silent[i] = connection
	}
	ask, _ := f.healthy("blue")
	f.Expect(ask()).To(Succeed())
	for _, connection := range silent {
		f.Expect(connection.SetReadDeadline(time.Now().Add(patience))).To(Succeed())
		_, err := connection.Read(make([]byte, 1))
		timeout := net.Error(nil)
		f.Expect(err).NotTo(BeNil())
		f.Expect(errors.As(err, &timeout) && timeout.Timeout()).To(BeFalse(), "the proxy has closed it")
	}
	f.Expect(ask()).To(Succeed())
	f.Eventually(f.refused, patience).WithArguments("silence").Should(Equal(50.0))
}

// A call of gRPC's reflection takes any number of questions, each of which is work.
func TestLimits_countEachMessageOfACall(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ *rest.Config, c *proxy.Config) { c.TenantQPS, c.TenantBurst = 0.01, 3 })
	stream, err := grpc_reflection_v1.NewServerReflectionClient(f.connect(tenant("blue"))).ServerReflectionInfo(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	ask := func() error {
		_ = stream.Send(&grpc_reflection_v1.ServerReflectionRequest{ // Recv says why not
			MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{},
		})
		_, err := stream.Recv()
		return err
	}
	for range 3 {
		f.Expect(ask()).To(Succeed())
	}
	f.Expect(code(ask())).To(Equal(codes.ResourceExhausted))
}

// A client that continues with refused calls is work: its messages are read before they are refused.
func TestLimits_ofCallsThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ *rest.Config, c *proxy.Config) { c.TenantQPS, c.TenantBurst = 0.0001, 2 })
	blue, red := tenant("blue"), f.as(tenant("red"))
	first, second := f.as(blue), f.as(blue)
	heard := map[codes.Code]int{}
	for range 2 + 10*2 {
		_, err := first.ResourceGroups.List(t.Context(), &proxyv1.ListRequest{})
		heard[code(err)]++
	}
	f.Expect(heard).To(Equal(map[codes.Code]int{codes.OK: 2, codes.ResourceExhausted: 20}))
	for _, c := range []*client.Client{first, second, first} {
		_, err := c.ResourceGroups.List(t.Context(), &proxyv1.ListRequest{})
		f.Expect(code(err)).To(Equal(codes.Unavailable))
	}
	_, err := red.ResourceGroups.List(t.Context(), &proxyv1.ListRequest{})
	f.Expect(err).NotTo(HaveOccurred())
}
