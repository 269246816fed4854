package proxy_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubernetes "sigs.k8s.io/controller-runtime/pkg/client"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/testenv"
)

// From nothing to a network with a host, a change, and nothing again.
func TestLife_ofANetwork(t *testing.T) {
	t.Parallel()
	f, blue, ctx := newFixture(t), tenant("blue"), t.Context()
	c := f.as(blue)

	group, err := c.ResourceGroups.Create(ctx, &proxyv1.CreateResourceGroupRequest{Name: "web", Spec: network()})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(group.GetMetadata().GetTenant()).To(Equal(blue))
	f.Expect(group.GetSpec().GetTenantIdentifier()).To(Equal(blue))
	namespace := &corev1.Namespace{}
	f.Expect(testenv.Client(t).Get(ctx, kubernetes.ObjectKey{Name: blue}, namespace)).To(Succeed())
	f.Expect(namespace.Labels).To(And(HaveKeyWithValue("app.kubernetes.io/managed-by", "bedplate-hydrazine-proxy"),
		HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted")))

	spec := host("web")
	resource, err := c.ManagedResources.Create(ctx, &proxyv1.CreateManagedResourceRequest{Tenant: blue, Name: "host1", Spec: spec})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(resource.GetSpec().GetState()).To(Equal(proxyv1.ManagedResourceState_MANAGED_RESOURCE_STATE_ATTACHED))

	// A controller that has a finalizer, and says that it is ready.
	manage(f, &resourcev1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: blue, Name: "host1"}})
	ready, err := c.WaitManagedResource(ctx, "", "host1")
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(ready.GetStatus().GetConditions()).To(HaveLen(1))

	// A change that says what it has read.
	ready.Spec.State = proxyv1.ManagedResourceState_MANAGED_RESOURCE_STATE_ISOLATED
	change := &proxyv1.UpdateManagedResourceRequest{Name: "host1", Spec: ready.GetSpec(), ResourceVersion: ready.GetMetadata().GetResourceVersion()}
	changed, err := c.ManagedResources.Update(ctx, change)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(changed.GetMetadata().GetGeneration()).To(Equal(int64(2)))
	again, err := c.ManagedResources.Update(ctx, change)
	f.Expect(err).NotTo(HaveOccurred(), "it is as it was to be")
	f.Expect(again.GetMetadata().GetResourceVersion()).To(Equal(changed.GetMetadata().GetResourceVersion()))
	change.Spec.Identifier = "pf1hpf"
	_, err = c.ManagedResources.Update(ctx, change)
	f.Expect(code(err)).To(Equal(codes.Aborted), "it has changed since")
	f.Expect(detail[*errdetails.ErrorInfo](err).GetReason()).To(Equal("VERSION_DIFFERS"))

	f.Eventually(func() error { // the proxy may not answer in so short a time
		short, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		_, err := c.WaitManagedResource(short, "", "host1")
		return err
	}, patience).Should(MatchError(ContainSubstring("host1 isn't ready: its latest change hasn't been seen yet")))

	list, err := c.ManagedResources.List(ctx, &proxyv1.ListRequest{})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(list.GetManagedResources()).To(HaveLen(1))

	stream, err := c.ManagedResources.Watch(ctx, &proxyv1.WatchRequest{ResourceVersion: list.GetResourceVersion()})
	f.Expect(err).NotTo(HaveOccurred())
	_, err = c.ManagedResources.Delete(ctx, &proxyv1.DeleteRequest{Name: "host1", Uid: "another"})
	f.Expect(code(err)).To(Equal(codes.Aborted))
	for range 2 {
		_, err = c.ManagedResources.Delete(ctx, &proxyv1.DeleteRequest{Name: "host1", Uid: resource.GetMetadata().GetUid()})
		f.Expect(err).NotTo(HaveOccurred())
	}
	going, err := stream.Recv()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(going.GetType()).To(Equal(proxyv1.EventType_EVENT_TYPE_MODIFIED))
	f.Expect(going.GetManagedResource().GetMetadata().GetDeleteTime()).NotTo(BeNil())
	_, err = c.ManagedResources.Create(ctx, &proxyv1.CreateManagedResourceRequest{Name: "host1", Spec: spec})
	f.Expect(code(err)).To(Equal(codes.FailedPrecondition), "it is still going")
	f.Expect(detail[*errdetails.ErrorInfo](err).GetReason()).To(Equal("BEING_DELETED"))
	release(f, &resourcev1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: blue, Name: "host1"}})
	gone, err := stream.Recv()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(gone.GetType()).To(Equal(proxyv1.EventType_EVENT_TYPE_DELETED))
	_, err = c.ManagedResources.Get(ctx, &proxyv1.GetRequest{Name: "host1"})
	f.Expect(code(err)).To(Equal(codes.NotFound))
	_, err = c.WaitManagedResource(ctx, "", "host1")
	f.Expect(err).To(MatchError(ContainSubstring("ManagedResource host1: not found")))

	_, err = c.ManagedResources.Delete(ctx, &proxyv1.DeleteRequest{Name: "host1"})
	f.Expect(code(err)).To(Equal(codes.NotFound))
	_, err = c.ManagedResources.Delete(ctx, &proxyv1.DeleteRequest{Name: "host1", AllowMissing: true})
	f.Expect(err).NotTo(HaveOccurred())
	_, err = c.ResourceGroups.Delete(ctx, &proxyv1.DeleteRequest{Name: "web"})
	f.Expect(err).NotTo(HaveOccurred())
	_, err = c.ResourceGroups.Get(ctx, &proxyv1.GetRequest{Name: "web"})
	f.Expect(code(err)).To(Equal(codes.NotFound))
}

// manage an object as its controller would.
func manage(f *fixture, r *resourcev1.ManagedResource) {
	c, ctx := testenv.Client(f.t), f.t.Context()
	f.Expect(c.Get(ctx, kubernetes.ObjectKeyFromObject(r), r)).To(Succeed())
	r.Finalizers = []string{resourcev1.ManagedResourceFinalizer}
	f.Expect(c.Update(ctx, r)).To(Succeed())
	meta.SetStatusCondition(&r.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "AsWanted", ObservedGeneration: r.Generation,
	})
	f.Expect(c.Status().Update(ctx, r)).To(Succeed())
}

func release(f *fixture, r *resourcev1.ManagedResource) {
	f.Expect(testenv.Client(f.t).Patch(f.t.Context(), r, kubernetes.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
}

func TestUpdate_ofAGroup(t *testing.T) {
	t.Parallel()
	f, blue, ctx := newFixture(t), tenant("blue"), t.Context()
	c, operator := f.as(blue), f.as(operators)
	spec := network()
	spec.TenantIdentifier = "7d0e"
	group, err := operator.ResourceGroups.Create(ctx, &proxyv1.CreateResourceGroupRequest{Tenant: blue, Name: "web", Spec: spec})
	f.Expect(err).NotTo(HaveOccurred())

	update := func(change func(*proxyv1.ResourceGroupSpec)) error {
		group, err = c.ResourceGroups.Get(ctx, &proxyv1.GetRequest{Name: "web"})
		f.Expect(err).NotTo(HaveOccurred())
		change(group.GetSpec())
		_, err := c.ResourceGroups.Update(ctx, &proxyv1.UpdateResourceGroupRequest{
			Name: "web", Spec: group.GetSpec(), ResourceVersion: group.GetMetadata().GetResourceVersion()})
		return err
	}
	f.Expect(update(func(s *proxyv1.ResourceGroupSpec) {
		s.SecurityGroups = []*proxyv1.SecurityGroup{{Name: "default", Rules: []*proxyv1.SecurityRule{{
			Direction: proxyv1.SecurityDirection_SECURITY_DIRECTION_EGRESS, Prefixes: []string{"10.0.0.0/8"},
		}}}}
	})).To(Succeed(), "an operator's identifier may stay")
	f.Expect(update(func(s *proxyv1.ResourceGroupSpec) { s.TenantIdentifier, s.DhcpServer = "", "172.19.0.10" })).To(Succeed())
	group, err = c.ResourceGroups.Get(ctx, &proxyv1.GetRequest{Name: "web"})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(group.GetSpec().GetTenantIdentifier()).To(Equal("7d0e"))
	f.Expect(group.GetSpec().GetDhcpServer()).To(Equal("172.19.0.10"))
	f.Expect(group.GetSpec().GetSecurityGroups()[0].GetRules()[0].GetProtocol()).To(Equal(proxyv1.SecurityProtocol_SECURITY_PROTOCOL_ANY))

	err = update(func(s *proxyv1.ResourceGroupSpec) { s.Network.Gateway = "10.10.10.9" })
	f.Expect(code(err)).To(Equal(codes.InvalidArgument))
	f.Expect(detail[*errdetails.BadRequest](err).GetFieldViolations()).To(ContainElement(HaveField("Field", "spec.network")))
	f.Expect(code(update(func(s *proxyv1.ResourceGroupSpec) { s.TenantIdentifier = "red" }))).To(Equal(codes.PermissionDenied))
	_, err = c.ResourceGroups.Update(ctx, &proxyv1.UpdateResourceGroupRequest{Name: "web", Spec: group.GetSpec()})
	f.Expect(detail[*errdetails.BadRequest](err).GetFieldViolations()).To(ContainElement(HaveField("Field", "resource_version")))
	_, err = c.ResourceGroups.Update(ctx, &proxyv1.UpdateResourceGroupRequest{Name: "none", Spec: group.GetSpec(), ResourceVersion: "1"})
	f.Expect(code(err)).To(Equal(codes.NotFound))
}
