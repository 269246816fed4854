package plan_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/plan"
)

// toys have Services for clusters, Pods for machines, and PodTemplates for these: kinds that every cluster knows.
var toys = plan.System{
	Name: "toys", Version: corev1.SchemeGroupVersion, Cluster: "Service", Machine: "Pod", Template: "PodTemplate",
	Secret: []string{"spec", "externalName"},
	Open: func(a plan.Access) func(client.Object) plan.Infrastructure {
		return func(o client.Object) plan.Infrastructure { return &toy{Access: a, object: o.(*corev1.Service)} }
	},
}

type toy struct {
	plan.Access
	object *corev1.Service
}

func (t *toy) Networks(ctx context.Context, owner *clusterv1.Cluster) ([]graph.Step, bool) {
	secret := &corev1.Secret{}
	if err := t.Secrets.Get(ctx, client.ObjectKey{Namespace: t.object.Namespace, Name: t.object.Spec.ExternalName}, secret); err != nil {
		return plan.Failed("LoggedIn", err), false
	}
	return []graph.Step{{Key: "box", Kind: "box", Action: graph.ActionCreate, Why: fmt.Sprintf("%s of %s", secret.Data["key"], owner.Name)}}, true
}

func (t *toy) Machine(_ context.Context, _ *clusterv1.Machine, m client.Object) []graph.Step {
	return []graph.Step{{Key: "toy", Kind: "toy", Action: graph.ActionKeep, ID: "toy-of-" + m.GetName()}}
}

func (t *toy) Domains() []string { return nil }

func (t *toy) Instance(_ context.Context, template client.Object, _ bool, _ string) (plan.Instance, error) {
	return plan.Instance{Type: template.(*corev1.PodTemplate).Template.Spec.NodeName}, nil
}

const file = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: demo}
spec:
  infrastructureRef: {apiGroup: "", kind: Service, name: demo}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Service, metadata: {name: demo}, spec: {type: ExternalName, externalName: login}}
- {apiVersion: v1, kind: Secret, metadata: {name: login}, data: {key: a2V5}}
- {apiVersion: v1, kind: PodTemplate, metadata: {name: small}, template: {spec: {nodeName: bear}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: workers}
spec:
  clusterName: demo
  replicas: 3
  template: {spec: {infrastructureRef: {kind: PodTemplate, name: small}}}
`

// management has a machine of the cluster, and nothing else of it.
func management(g Gomega) client.Client {
	scheme := runtime.NewScheme()
	g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
	g.Expect(clusterv1.AddToScheme(scheme)).To(Succeed())
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "red", Name: "worker-1",
		Labels:      map[string]string{clusterv1.ClusterNameLabel: "demo", clusterv1.MachineDeploymentNameLabel: "workers"},
		Annotations: map[string]string{clusterv1.TemplateClonedFromNameAnnotation: "small"},
	}}).Build()
}

func TestFile_plansAToySystemAndWritesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := management(g)
	planned, err := plan.File(t.Context(), c, toys, plan.Options{Namespace: "red"}, []byte(file))
	g.Expect(err).NotTo(HaveOccurred())
	var out strings.Builder
	g.Expect(plan.Print(&out, planned)).To(Succeed())
	g.Expect(out.String()).To(Equal(`+ create   = keep

Service red/demo (new)
  + box                               key of demo
  = toy of worker-1  toy-of-worker-1
  + 2 instances of type bear for MachineDeployment workers

Plan: 3 to create, 1 kept.
`), "\n%s", out.String())
	for _, list := range []client.ObjectList{&corev1.ServiceList{}, &corev1.SecretList{}, &corev1.PodTemplateList{}} {
		g.Expect(c.List(t.Context(), list)).To(Succeed())
		g.Expect(list).To(HaveField("Items", BeEmpty()))
	}
}

func TestFile_refusesWhatCantBePlanned(t *testing.T) {
	t.Parallel()
	const secret = "{apiVersion: v1, kind: Secret, metadata: {name: login}, data: {key: a2V5}}"
	for name, row := range map[string]struct{ from, to, says string }{
		"a file without a cluster":         {"kind: Service", "kind: Servant", "there is no Service in the file"},
		"an object twice":                  {secret, secret + "\n- " + secret, "Secret red/login is in the file twice"},
		"a template of clusterctl's":       {"nodeName: bear", `nodeName: "${TOY}"`, "with variables such as ${TOY}"},
		"an object without a name":         {"{name: small}", "{}", "PodTemplate has no metadata.name"},
		"what isn't YAML, by its document": {"replicas: 3", "replicas: {", "document 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			_, err := plan.File(t.Context(), management(g), toys, plan.Options{Namespace: "red"}, []byte(strings.ReplaceAll(file, row.from, row.to)))
			g.Expect(err).To(MatchError(ContainSubstring(row.says)))
		})
	}
}

func TestFile_saysWhatASetLacks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	planned, err := plan.File(t.Context(), management(g), toys, plan.Options{Namespace: "red"}, []byte(strings.ReplaceAll(file, "name: small", "name: none")))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(planned.Clusters[0].Instances).To(HaveLen(2), "those of another template are replaced")
	planned, err = plan.File(t.Context(), management(g), toys, plan.Options{Namespace: "red"}, []byte(strings.Replace(file, "{name: small}", "{name: none}", 1)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(planned.Failures()).To(Equal(2))
	g.Expect(planned.Clusters[0].Instances[0].Why).To(Equal("there is no PodTemplate small: add it to the file"))
}
