package overlay_test

import (
	"context"
	"net"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubernetes "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/api/hydrazine/proxy/client"
	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
)

// dial the proxy from a machine of the data centre, as an organization.
func (s *stack) dial(organization string) *client.Client {
	s.t.Helper()
	tls, err := s.CertifyTenant(organization)
	s.Expect(err).NotTo(HaveOccurred())
	c, err := client.Dial("passthrough:///"+s.ProxyAddress().String(),
		client.Files{Certificate: tls.Certificate, Key: tls.Key, Authorities: tls.Authorities},
		grpc.WithContextDialer(func(ctx context.Context, address string) (connection net.Conn, err error) {
			err = s.Do(fabric.DC, func() error {
				connection, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
				return err
			})
			return connection, err
		}))
	s.Expect(err).NotTo(HaveOccurred())
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// The whole life of a network by a gRPC client that knows no Kubernetes: from nothing to packets, and to nothing again.
func TestProxy_leadsANetworkThroughItsLife(t *testing.T) {
	t.Parallel()
	s := upService(t, fabric.Flat(2))
	ctx, acme := t.Context(), s.dial("acme")
	software := proxyv1.NetworkImplementationType_NETWORK_IMPLEMENTATION_TYPE_SOFTWARE
	_, err := acme.ResourceGroups.Create(ctx, &proxyv1.CreateResourceGroupRequest{Name: "blue", Spec: &proxyv1.ResourceGroupSpec{
		Network: &proxyv1.IPNet{Ip: "10.10.10.0", PrefixLength: 24}, NetworkImplementationType: software,
	}})
	s.Expect(err).NotTo(HaveOccurred())
	specs := map[string]*proxyv1.ManagedResourceSpec{}
	for host, ip := range map[string]string{"host1": "10.10.10.2", "host2": "10.10.10.3"} {
		at := s.seat(host)
		specs[host] = &proxyv1.ManagedResourceSpec{
			ResourceGroup: "blue", HostIp: ip, HostMac: at.host.MAC.String(), DpuIps: []string{at.dpu.Addresses[0].String(), at.host.FabricIP.String()},
			HostAccess: proxyv1.HostAccess_HOST_ACCESS_FABRIC_ACCESS,
		}
		_, err := acme.ManagedResources.Create(ctx, &proxyv1.CreateManagedResourceRequest{Name: host, Spec: specs[host]})
		s.Expect(err).NotTo(HaveOccurred())
		s.Expect(s.Configure(host, netip.PrefixFrom(netip.MustParseAddr(ip), 24), netip.MustParseAddr("10.10.10.1"))).To(Succeed())
	}
	wait := func(host string) {
		waiting, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_, err := acme.WaitManagedResource(waiting, "", host)
		s.Expect(err).NotTo(HaveOccurred())
	}
	wait("host1")
	wait("host2")
	s.reached("", func() (netip.Addr, error) { return s.pings("host1", "10.10.10.3") })

	evil := s.dial("evil")
	for what, do := range map[string]func() error{
		"sees": func() error {
			_, err := evil.ManagedResources.Get(ctx, &proxyv1.GetRequest{Tenant: "acme", Name: "host1"})
			return err
		},
		"deletes": func() error {
			_, err := evil.ManagedResources.Delete(ctx, &proxyv1.DeleteRequest{Tenant: "acme", Name: "host1"})
			return err
		},
	} {
		s.Expect(status.Code(do())).To(Equal(codes.PermissionDenied), what)
	}
	list, err := evil.ManagedResources.List(ctx, &proxyv1.ListRequest{})
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(list.GetManagedResources()).To(BeEmpty())

	s.Eventually(func() error { // again when the manager has written to it meanwhile
		read, err := acme.ManagedResources.Get(ctx, &proxyv1.GetRequest{Name: "host2"})
		if err != nil {
			return err
		}
		read.Spec.State = proxyv1.ManagedResourceState_MANAGED_RESOURCE_STATE_ISOLATED
		_, err = acme.ManagedResources.Update(ctx, &proxyv1.UpdateManagedResourceRequest{
			Name: "host2", Spec: read.GetSpec(), ResourceVersion: read.GetMetadata().GetResourceVersion(),
		})
		return err
	}).Should(Succeed())
	two := &resourcev1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "host2"}}
	s.becomes(two, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolated")
	s.silent(s.pings("host1", "10.10.10.3"))

	for host := range specs {
		_, err := acme.ManagedResources.Delete(ctx, &proxyv1.DeleteRequest{Name: host})
		s.Expect(err).NotTo(HaveOccurred())
	}
	_, err = acme.ResourceGroups.Delete(ctx, &proxyv1.DeleteRequest{Name: "blue"})
	s.Expect(err).NotTo(HaveOccurred())
	for _, objects := range []kubernetes.ObjectList{&resourcev1.ResourceGroupList{}, &resourcev1.ManagedResourceList{}} {
		s.Eventually(func(g Gomega) {
			g.Expect(s.client.List(ctx, objects, kubernetes.InNamespace("acme"))).To(Succeed())
			g.Expect(meta.LenList(objects)).To(BeZero())
		}).Should(Succeed())
	}
}
