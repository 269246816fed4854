package pods_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc/credentials/insecure"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/controller"
	"github.com/bedplate/bedplate/internal/queue"
)

// From a ResourceGroup to a central that is open, and to nothing again; nothing is read without a reason.
func TestGroup_hasACentralOnKubernetes(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.with = func(ctx context.Context, mgr ctrl.Manager) {
		f.Expect(controller.Setup(ctx, mgr, controller.Config{
			Centrals: f.runtime, Agents: agents.NewPool(ctx, agents.Config{Credentials: insecure.NewCredentials(), Heartbeat: time.Second}),
			Lease: time.Hour, Poll: time.Hour, SpeakersNamespace: f.namespace,
			Options: ctrlcontroller.Options{NewQueue: queue.New[reconcile.Request]},
		})).To(Succeed())
	}
	f.run()
	group := &resourcev1.ResourceGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "blue"},
		Spec: resourcev1.ResourceGroupSpec{
			Network:                   &resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24},
			NetworkImplementationType: resourcev1.SoftwareNetwork,
		},
	}
	f.Expect(f.client.Create(t.Context(), group)).To(Succeed())
	ready := func() string {
		f.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(group), group)).To(Succeed())
		if c := meta.FindStatusCondition(group.Status.Conditions, resourcev1.ReadyCondition); c != nil {
			return string(c.Status) + " " + c.Reason
		}
		return ""
	}
	f.Eventually(ready).Should(Equal("False CentralStarting"))
	name, deployment := "ovn-"+string(group.UID), &appsv1.Deployment{}
	const ip = "127.92.0.5"
	k := f.kubelet(name, ip)
	f.pod(name, ip)
	f.Eventually(ready).Should(Equal("True AsWanted"))
	f.Eventually(func() bool { return listens(ip, 6642) }).Should(BeTrue())
	f.Expect(group.Status.SoftwareNetworkConfiguration.Southbound).To(HavePrefix("ssl:" + node.String() + ":"))
	f.Expect(k.run("ovn-nbctl", "--db=unix:/run/ovn/nb.sock", "--timeout=5", "get", "Logical_Switch",
		group.Status.SoftwareNetworkConfiguration.LogicalNetwork, "name")).To(Succeed())

	f.Expect(f.client.Delete(t.Context(), group)).To(Succeed())
	f.Eventually(func() ([]string, error) {
		err := f.get(name, deployment)
		return deployment.Finalizers, err
	}).Should(ConsistOf("foregroundDeletion"))
	deployment.Finalizers = nil
	f.Expect(f.client.Update(t.Context(), deployment)).To(Succeed())
	f.Eventually(func() bool {
		return apierrors.IsNotFound(f.client.Get(t.Context(), client.ObjectKeyFromObject(group), group))
	}).Should(BeTrue())
	for _, object := range kinds() {
		f.Expect(apierrors.IsNotFound(f.get(name, object))).To(BeTrue(), "%T", object)
	}
}
