package proxy_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	kubernetes "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/api/hydrazine/proxy/client"
	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/proxy"
	"github.com/bedplate/bedplate/internal/testenv"
)

// Many at once, into a namespace that isn't there: each is answered with the one object. The webhook refuses a second host
// with the same addresses, which must not be in the way.
func TestCreate_canBeRepeated(t *testing.T) {
	t.Parallel()
	f, ctx := newFixture(t), t.Context()
	c, spec := f.as(tenant("blue")), host("web")
	uids := make([]string, 20)
	var all errgroup.Group
	for i := range uids {
		all.Go(func() error {
			r, err := c.ManagedResources.Create(ctx, &proxyv1.CreateManagedResourceRequest{Name: "host1", Spec: spec})
			uids[i] = r.GetMetadata().GetUid()
			return err
		})
	}
	f.Expect(all.Wait()).To(Succeed())
	f.Expect(uids).To(HaveEach(And(Equal(uids[0]), Not(BeEmpty()))))
	// Once the webhook knows it.
	f.Eventually(func(g Gomega) {
		_, err := c.ManagedResources.Create(ctx, &proxyv1.CreateManagedResourceRequest{Name: "host2", Spec: spec})
		g.Expect(err).To(MatchError(ContainSubstring("is in use by ManagedResource host1")))
	}, patience).Should(Succeed())
	r, err := c.ManagedResources.Create(ctx, &proxyv1.CreateManagedResourceRequest{Name: "host1", Spec: spec})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(r.GetMetadata().GetUid()).To(Equal(uids[0]))
}

func TestCreate_ofAnotherSpecNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	f, ctx := newFixture(t), t.Context()
	c, spec := f.as(tenant("blue")), host("web")
	_, err := c.ManagedResources.Create(ctx, &proxyv1.CreateManagedResourceRequest{Name: "host1", Spec: spec})
	f.Expect(err).NotTo(HaveOccurred())
	spec.HostIp, spec.Identifier = "10.10.10.3", "pf0hpf"
	_, err = c.ManagedResources.Create(ctx, &proxyv1.CreateManagedResourceRequest{Name: "host1", Spec: spec})
	f.Expect(code(err)).To(Equal(codes.AlreadyExists))
	info := detail[*errdetails.ErrorInfo](err)
	f.Expect(info.GetReason()).To(Equal("SPEC_DIFFERS"))
	f.Expect(info.GetDomain()).To(Equal("hydrazine.bedplate.dev"))
	f.Expect(info.GetMetadata()).To(HaveKeyWithValue("fields", "spec.host_ip, spec.identifier"))
}

// The tenant that is named to the fabric is that of the certificate, unless an operator says otherwise.
func TestCreate_ofAGroupNamesItsTenant(t *testing.T) {
	t.Parallel()
	f, blue, red := newFixture(t), tenant("blue"), tenant("red")
	create := func(c *client.Client, name, identifier string) (string, error) {
		spec := network()
		spec.TenantIdentifier = identifier
		group, err := c.ResourceGroups.Create(t.Context(), &proxyv1.CreateResourceGroupRequest{Tenant: blue, Name: name, Spec: spec})
		return group.GetSpec().GetTenantIdentifier(), err
	}
	_, err := create(f.as(blue), "reds", red)
	f.Expect(code(err)).To(Equal(codes.PermissionDenied))
	f.Expect(f.everything(f.as(blue))).To(BeEmpty())
	for name, identifier := range map[string]string{"without": "", "with": blue} {
		f.Expect(create(f.as(blue), name, identifier)).To(Equal(blue))
	}
	f.Expect(create(f.as(operators), "operators", red)).To(Equal(red))
}

// At the limit of a quota, what is there can still be asked for again. The API server hears of a quota a moment after it is
// made, and counts nothing until then: so the quota is full from the beginning, and each attempt asks for another one.
func TestCreate_withinAQuota(t *testing.T) {
	t.Parallel()
	f, blue, ctx := newFixture(t), tenant("blue"), t.Context()
	c, admin := f.as(blue), testenv.Client(t)
	f.createGroup(c, "web")
	count := corev1.ResourceName("count/resourcegroups.resource.bedplate.dev")
	one := corev1.ResourceList{count: resource.MustParse("1")}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "groups", Namespace: blue}, Spec: corev1.ResourceQuotaSpec{Hard: one},
	}
	f.Expect(admin.Create(ctx, quota)).To(Succeed())
	quota.Status = corev1.ResourceQuotaStatus{Hard: one, Used: one}
	f.Expect(admin.Status().Update(ctx, quota)).To(Succeed())
	attempts := 0
	f.Eventually(func() codes.Code {
		attempts++
		_, err := c.ResourceGroups.Create(ctx, &proxyv1.CreateResourceGroupRequest{Name: fmt.Sprint("db", attempts), Spec: network()})
		return code(err)
	}, patience).Should(Equal(codes.ResourceExhausted))
	f.createGroup(c, "web")
}

func TestCreate_inNoNamespace(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ *rest.Config, c *proxy.Config) { c.CreateNamespaces = false })
	blue := tenant("blue")
	_, err := f.as(blue).ResourceGroups.Create(t.Context(), &proxyv1.CreateResourceGroupRequest{Name: "web", Spec: network()})
	f.Expect(code(err)).To(Equal(codes.FailedPrecondition))
	f.Expect(detail[*errdetails.ErrorInfo](err).GetReason()).To(Equal("NO_NAMESPACE"))
	f.Expect(testenv.Client(t).Get(t.Context(), kubernetes.ObjectKey{Name: blue}, &corev1.Namespace{})).NotTo(Succeed())
}

func TestCreate_namesTheFieldsThatAreWrong(t *testing.T) {
	t.Parallel()
	f, ctx := newFixture(t), t.Context()
	c := f.as(tenant("blue"))
	group := func(change func(*proxyv1.CreateResourceGroupRequest)) error {
		r := &proxyv1.CreateResourceGroupRequest{Name: "web", Spec: network()}
		change(r)
		_, err := c.ResourceGroups.Create(ctx, r)
		return err
	}
	host := func(change func(*proxyv1.ManagedResourceSpec)) error {
		spec := host("web")
		change(spec)
		_, err := c.ManagedResources.Create(ctx, &proxyv1.CreateManagedResourceRequest{Name: "host1", Spec: spec})
		return err
	}
	type spec = proxyv1.ResourceGroupSpec
	rules := func(r *proxyv1.SecurityRule) []*proxyv1.SecurityGroup {
		return []*proxyv1.SecurityGroup{{Name: "default", Rules: []*proxyv1.SecurityRule{r}}}
	}
	newer := network()
	newer.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	for field, err := range map[string]error{
		"name":                             group(func(r *proxyv1.CreateResourceGroupRequest) { r.Name = "../web" }),
		"spec":                             group(func(r *proxyv1.CreateResourceGroupRequest) { r.Spec = newer }),
		"spec.network.prefix_length":       group(func(r *proxyv1.CreateResourceGroupRequest) { r.Spec.Network.PrefixLength = 31 }),
		"spec.network.ip":                  group(func(r *proxyv1.CreateResourceGroupRequest) { r.Spec.Network.Ip = "10.10.10" }),
		"spec.network":                     group(func(r *proxyv1.CreateResourceGroupRequest) { r.Spec = &spec{} }),
		"spec.second_network":              group(func(r *proxyv1.CreateResourceGroupRequest) { r.Spec.SecondNetwork = r.Spec.Network }),
		"spec.dhcp_server":                 group(func(r *proxyv1.CreateResourceGroupRequest) { r.Spec.DhcpServer = "fe80::1" }),
		"spec.network_implementation_type": group(func(r *proxyv1.CreateResourceGroupRequest) { r.Spec.NetworkImplementationType = 9 }),
		"spec.security_groups[0].rules[0].ports": group(func(r *proxyv1.CreateResourceGroupRequest) {
			r.Spec.SecurityGroups = rules(&proxyv1.SecurityRule{
				Direction: proxyv1.SecurityDirection_SECURITY_DIRECTION_EGRESS, Ports: []*proxyv1.PortRange{{First: 1}},
			})
		}),
		"spec.security_groups[0].rules[0].direction": group(func(r *proxyv1.CreateResourceGroupRequest) {
			r.Spec.SecurityGroups = rules(&proxyv1.SecurityRule{})
		}),
		"spec.host_ip":        host(func(s *proxyv1.ManagedResourceSpec) { s.HostIp = "here" }),
		"spec.host_mac":       host(func(s *proxyv1.ManagedResourceSpec) { s.HostMac = "01:00:00:00:00:00" }),
		"spec.dpu_ips":        host(func(s *proxyv1.ManagedResourceSpec) { s.DpuIps = s.DpuIps[:1] }),
		"spec.dpu_ips[0]":     host(func(s *proxyv1.ManagedResourceSpec) { s.DpuIps[0] = "127.0.0.1" }),
		"spec.resource_group": host(func(s *proxyv1.ManagedResourceSpec) { s.ResourceGroup = strings.Repeat("x", 254) }),
	} {
		f.Expect(code(err)).To(Equal(codes.InvalidArgument), field)
		fields := detail[*errdetails.BadRequest](err).GetFieldViolations()
		f.Expect(fields).To(ContainElement(And(HaveField("Field", field), HaveField("Description", Not(BeEmpty())))), "%s: %v", field, fields)
	}
}
