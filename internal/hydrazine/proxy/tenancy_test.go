package proxy_test

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	kubernetes "sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/api/hydrazine/proxy/client"
	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/proxy"
	"github.com/bedplate/bedplate/internal/mtls"
	"github.com/bedplate/bedplate/internal/testenv"
)

// methods of the proxy's services, whichever there are.
func methods() (all []protoreflect.MethodDescriptor) {
	protoregistry.GlobalFiles.RangeFilesByPackage("bedplate.hydrazine.proxy.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			for j := range file.Services().Get(i).Methods().Len() {
				all = append(all, file.Services().Get(i).Methods().Get(j))
			}
		}
		return true
	})
	return all
}

// connect as a client of an organization, for any method.
func (f *fixture) connect(organizations ...string) *grpc.ClientConn {
	f.t.Helper()
	files := f.files(organized(organizations...))
	transport, err := (&mtls.Files{Certificate: files.Certificate, Key: files.Key, Authorities: files.Authorities}).
		Client(logr.NewContext(f.t.Context(), logr.Discard()), nil)
	f.Expect(err).NotTo(HaveOccurred())
	return f.connectBy(transport)
}

func (f *fixture) connectBy(transport credentials.TransportCredentials) *grpc.ClientConn {
	f.t.Helper()
	connection, err := grpc.NewClient("passthrough:///"+f.address, grpc.WithTransportCredentials(transport), grpc.WithDisableRetry())
	f.Expect(err).NotTo(HaveOccurred())
	f.t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// call a method, and return its first answer.
func call(ctx context.Context, connection grpc.ClientConnInterface, method protoreflect.MethodDescriptor, request proto.Message) (*dynamicpb.Message, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer := dynamicpb.NewMessage(method.Output())
	name := "/" + string(method.Parent().FullName()) + "/" + string(method.Name())
	if !method.IsStreamingServer() {
		return answer, connection.Invoke(ctx, name, request, answer)
	}
	stream, err := connection.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, name)
	if err != nil {
		return answer, err
	}
	if err := stream.SendMsg(request); err != nil {
		return answer, err
	}
	if err := stream.CloseSend(); err != nil {
		return answer, err
	}
	return answer, stream.RecvMsg(answer)
}

// request of a method, about an object of a tenant.
func request(method protoreflect.MethodDescriptor, tenant, name string) proto.Message {
	r := dynamicpb.NewMessage(method.Input())
	for field, value := range map[protoreflect.Name]string{"tenant": tenant, "name": name, "resource_version": "1"} {
		if d := r.Descriptor().Fields().ByName(field); d != nil && (field != "resource_version" || !method.IsStreamingServer()) {
			r.Set(d, protoreflect.ValueOfString(value))
		}
	}
	return r
}

// A method that doesn't ask whose objects it is about fails here, and one whose request can't say it too.
func TestEveryMethod_refusesToActForOthers(t *testing.T) {
	t.Parallel()
	f, ctx, blue, red := newFixture(t), t.Context(), tenant("blue"), tenant("red")
	_, err := f.as(red).ResourceGroups.Create(ctx, &proxyv1.CreateResourceGroupRequest{Name: "web", Spec: network()})
	f.Expect(err).NotTo(HaveOccurred())
	_, err = f.as(red).ManagedResources.Create(ctx, &proxyv1.CreateManagedResourceRequest{Name: "web", Spec: host("web")})
	f.Expect(err).NotTo(HaveOccurred())
	connection := f.connect(blue)
	f.Expect(len(methods())).To(BeNumerically(">=", 17))
	for _, method := range methods() {
		for _, other := range []string{red, "-", "", "nobody-has-this-name"} {
			_, err := call(ctx, connection, method, request(method, other, "web"))
			if other != "" {
				f.Expect(code(err)).To(Equal(codes.PermissionDenied), "%s for %q", method.FullName(), other)
				f.Expect(err).To(MatchError(ContainSubstring("you are tenant "+blue+", and can't act for others")), string(method.FullName()))
				continue
			}
			if err != nil { // in its own name there is nothing of red's
				f.Expect(err.Error()).NotTo(ContainSubstring(red), string(method.FullName()))
				f.Expect(code(err)).To(BeElementOf(codes.NotFound, codes.InvalidArgument, codes.PermissionDenied), string(method.FullName()))
			}
		}
	}
	// Nothing has happened to red's.
	for _, o := range f.everything(f.as(red)) {
		f.Expect(o.GetMetadata().GetDeleteTime()).To(BeNil())
		f.Expect(o.GetMetadata().GetGeneration()).To(Equal(int64(1)))
	}
	f.Expect(f.everything(f.as(red))).To(HaveLen(2))
	f.Expect(f.everything(f.as(blue))).To(BeEmpty())
}

type object interface{ GetMetadata() *proxyv1.Metadata }

// everything that a client sees of the kinds that are tenants' own.
func (f *fixture) everything(c *client.Client) (all []object) {
	groups, err := c.ResourceGroups.List(f.t.Context(), &proxyv1.ListRequest{})
	f.Expect(err).NotTo(HaveOccurred())
	for _, g := range groups.GetResourceGroups() {
		all = append(all, g)
	}
	resources, err := c.ManagedResources.List(f.t.Context(), &proxyv1.ListRequest{})
	f.Expect(err).NotTo(HaveOccurred())
	for _, r := range resources.GetManagedResources() {
		all = append(all, r)
	}
	return all
}

func TestTenants_withPublicIPsSeeTheirOwn(t *testing.T) {
	t.Parallel()
	f, ctx, blue, red := newFixture(t), t.Context(), tenant("blue"), tenant("red")
	operator := f.as(operators)
	ips := map[string]string{tenant("a"): "", tenant("b"): blue, tenant("c"): red, tenant("d"): blue, tenant("e"): blue}
	address := func() string { n := counter.Add(1); return "203.0." + itoa(n/250) + "." + itoa(1+n%250) }
	for name, owner := range ips {
		_, err := operator.PublicIPs.Create(ctx, &proxyv1.CreatePublicIPRequest{Name: name, Spec: &proxyv1.PublicIPSpec{IpAddress: address()}})
		f.Expect(err).NotTo(HaveOccurred())
		f.allocate(name, owner)
		t.Cleanup(func() {
			f.Expect(testenv.Client(t).Delete(context.Background(), &networkfabricv1.PublicIP{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
		})
	}
	for name, owner := range ips {
		got, err := f.as(blue).PublicIPs.Get(ctx, &proxyv1.GetRequest{Name: name})
		if owner == blue {
			f.Expect(err).NotTo(HaveOccurred())
			f.Expect(got.GetMetadata().GetTenant()).To(Equal(blue))
			f.Expect(got.GetStatus().GetManagedResource().GetName()).To(Equal("host"))
		} else {
			_, none := f.as(blue).PublicIPs.Get(ctx, &proxyv1.GetRequest{Name: "no-such"})
			f.Expect(code(err)).To(Equal(codes.NotFound))
			f.Expect(err.Error()).To(HaveSuffix("PublicIP "+name+": not found"), "as of one that isn't there")
			f.Expect(none.Error()).To(HaveSuffix("PublicIP no-such: not found"))
		}
		_, err = f.as(blue).PublicIPs.Delete(ctx, &proxyv1.DeleteRequest{Name: name, AllowMissing: true})
		f.Expect(code(err)).To(Equal(codes.PermissionDenied))
	}
	_, err := f.as(blue).PublicIPs.Create(ctx, &proxyv1.CreatePublicIPRequest{Name: "x", Spec: &proxyv1.PublicIPSpec{IpAddress: "203.0.113.1"}})
	f.Expect(code(err)).To(Equal(codes.PermissionDenied))

	// By pages of two, for the tenant and for an operator who asks about the tenant.
	for c, asked := range map[*client.Client]string{f.as(blue): "", operator: blue} {
		f.Eventually(func(g Gomega) {
			names, pages, token := []string{}, 0, ""
			for ok := true; ok; ok = token != "" {
				page, err := c.PublicIPs.List(ctx, &proxyv1.ListRequest{Tenant: asked, PageSize: 2, PageToken: token})
				g.Expect(err).NotTo(HaveOccurred())
				for _, ip := range page.GetPublicIps() {
					g.Expect(ips[ip.GetMetadata().GetName()]).To(Equal(blue))
					names = append(names, ip.GetMetadata().GetName())
				}
				pages, token = pages+1, page.GetNextPageToken()
			}
			g.Expect(names).To(HaveLen(3))
			g.Expect(pages).To(Equal(2))
		}, patience).Should(Succeed())
	}
	all, err := operator.PublicIPs.List(ctx, &proxyv1.ListRequest{})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(len(all.GetPublicIps())).To(BeNumerically(">=", len(ips)))
}

// allocate a public IP as the allocator does. Owner "" releases it.
func (f *fixture) allocate(name, owner string) {
	f.t.Helper()
	c, ip := testenv.Client(f.t), &networkfabricv1.PublicIP{}
	f.Expect(c.Get(f.t.Context(), kubernetes.ObjectKey{Name: name}, ip)).To(Succeed())
	ip.Status.Allocated, ip.Status.ManagedResource = owner != "", nil
	if owner != "" {
		ip.Status.ManagedResource = &networkfabricv1.ManagedResourceReference{Namespace: owner, Name: "host", UID: "1"}
	}
	f.Expect(c.Status().Update(f.t.Context(), ip)).To(Succeed())
}

func TestOperators_actForEveryTenant(t *testing.T) {
	t.Parallel()
	prefix := tenant("site") + "-"
	f := newFixture(t, func(_ *rest.Config, c *proxy.Config) { c.NamespacePrefix = prefix })
	ctx, operator := t.Context(), f.as(operators)
	stream, err := operator.ResourceGroups.Watch(ctx, &proxyv1.WatchRequest{Tenant: "-"})
	f.Expect(err).NotTo(HaveOccurred())
	heard, _ := f.next(stream)
	f.Expect(heard).To(Equal("BOOKMARK "), "what is in other tests' namespaces is no tenant's")
	for _, owner := range []string{"blue", "red"} {
		_, err := operator.ResourceGroups.Create(ctx, &proxyv1.CreateResourceGroupRequest{Tenant: owner, Name: "web", Spec: network()})
		f.Expect(err).NotTo(HaveOccurred())
		f.Expect(testenv.Client(t).Get(ctx, kubernetes.ObjectKey{Name: prefix + owner}, &corev1.Namespace{})).To(Succeed())
		f.Expect(f.everything(f.as(owner))).To(HaveLen(1))
		event, err := stream.Recv()
		f.Expect(err).NotTo(HaveOccurred())
		f.Expect(event.GetResourceGroup().GetMetadata().GetTenant()).To(Equal(owner))
	}
	tenants, token := []string{}, ""
	for ok := true; ok; ok = token != "" { // many pages have nothing but other tests' groups
		page, err := operator.ResourceGroups.List(ctx, &proxyv1.ListRequest{Tenant: "-", PageToken: token})
		f.Expect(err).NotTo(HaveOccurred())
		for _, g := range page.GetResourceGroups() { // those of namespaces without the prefix are no tenants'
			tenants = append(tenants, g.GetMetadata().GetTenant())
		}
		token = page.GetNextPageToken()
	}
	f.Expect(tenants).To(ConsistOf("blue", "red"))
	for _, wrong := range []string{"", "-", "kube-system", "Blue", "a.b", "../x", "x-", prefix + prefix + prefix + prefix + prefix} {
		_, err := operator.ResourceGroups.Create(ctx, &proxyv1.CreateResourceGroupRequest{Tenant: wrong, Name: "web", Spec: network()})
		if wrong != "kube-system" { // with the prefix that is a name like others
			f.Expect(code(err)).To(Equal(codes.InvalidArgument), wrong)
		}
	}
	_, err = operator.ResourceGroups.List(ctx, &proxyv1.ListRequest{})
	f.Expect(code(err)).To(Equal(codes.InvalidArgument))
	nobodys, err := operator.ResourceGroups.Watch(ctx, &proxyv1.WatchRequest{})
	f.Expect(err).NotTo(HaveOccurred())
	_, err = nobodys.Recv()
	f.Expect(code(err)).To(Equal(codes.InvalidArgument))
	_, err = operator.PublicIPs.List(ctx, &proxyv1.ListRequest{Tenant: "Blue"})
	f.Expect(code(err)).To(Equal(codes.InvalidArgument))
	_, err = operator.PublicIPs.Create(ctx, &proxyv1.CreatePublicIPRequest{
		Tenant: "blue", Name: "one", Spec: &proxyv1.PublicIPSpec{IpAddress: "203.0.113.1"}})
	f.Expect(code(err)).To(Equal(codes.InvalidArgument), "it isn't anybody's yet")
}

func TestConnections_ofNobody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, organizations := range map[string][]string{
		"no organization": {}, "two": {"blue", "red"}, "two operators": {operators, "blue"}, "no label": {"Blue"}, "Kubernetes' own": {"kube-system"},
		"the cluster's administrators": {"system:masters"}, "empty": {""}, "a path": {"../red"},
	} {
		_, err := grpc_health_v1.NewHealthClient(f.connect(organizations...)).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		f.Expect(code(err)).To(Equal(codes.Unavailable), name)
	}
	healthy := grpc_health_v1.NewHealthClient(f.connect("blue"))
	f.Eventually(func(g Gomega) {
		answer, err := healthy.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "bedplate.hydrazine.proxy.v1.PublicIPs"})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.GetStatus()).To(Equal(grpc_health_v1.HealthCheckResponse_SERVING))
	}, patience).Should(Succeed())
}
