package examples_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/localstack"
)

func powervsOfAClass(t *testing.T, c client.Client, account *localstack.PowerVS) {
	const name = "powervs-class"
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(patience)
	cluster := &clusterv1.Cluster{}
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, cluster)).To(Succeed())
		condition := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ClusterTopologyReconciledCondition)
		g.Expect(condition).To(HaveValue(HaveField("Status", metav1.ConditionTrue)))
	}).Should(Succeed())
	infra := &infrav1.IBMPowerVSCluster{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: cluster.Spec.InfrastructureRef.Name}, infra)).To(Succeed())
	g.Expect(infra.CreatesInfra()).To(BeTrue(), "the annotation is that of the template")
	g.Expect(infra.Spec.Authentication.SecretRef.Name).To(Equal(name + "-ibmcloud"))
	g.Expect(infra.Spec.Zone).To(Equal(account.Zone))
	g.Expect([]string{infra.WorkspaceName(), infra.VPCName(), infra.Region(), infra.DHCPServerName()}).
		To(Equal([]string{name + "-serviceInstance", name + "-vpc", account.VPCRegion, name}), "what the cloud controller manager is told, too")
	g.Expect(infra.Spec.DHCPServer.Cidr).To(Equal(account.Network.String()))
	machines := &infrav1.IBMPowerVSMachineTemplateList{}
	g.Expect(c.List(t.Context(), machines, client.MatchingLabels{clusterv1.ClusterNameLabel: name})).To(Succeed())
	g.Expect(machines.Items).To(HaveLen(2))
	for _, m := range machines.Items {
		g.Expect(m.Spec.Template.Spec.ImageRef.Name).To(Equal(name + "-image"))
		g.Expect(m.Spec.Template.Spec.SSHKey).To(Equal(account.SSHKey))
	}
}
