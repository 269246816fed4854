package webhook_test

import (
	"context"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/testenv"
)

// heard are the warnings of an API server.
type heard struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeaderWithContext is what client-go calls for each of them.
func (h *heard) HandleWarningHeaderWithContext(_ context.Context, _ int, _ string, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.texts = append(h.texts, text)
}

func (h *heard) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	texts := h.texts
	h.texts = nil
	return texts
}

// listening is a client that hears the warnings of what it writes.
func listening(t *testing.T) (client.Client, *heard) {
	t.Helper()
	config, warnings := testenv.Config(t), &heard{}
	config.WarningHandlerWithContext = warnings
	var _ rest.WarningHandlerWithContext = warnings
	c, err := client.New(config, client.Options{Scheme: testenv.Scheme(t)})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c, warnings
}

func byRegex(text string) *infrav1.IBMPowerVSResourceReference {
	return &infrav1.IBMPowerVSResourceReference{RegEx: text}
}

func TestWarnings_sayWhatIsIgnored(t *testing.T) {
	t.Parallel()
	c, warnings := listening(t)
	namespace := testenv.Namespace(t)
	const without = ` is ignored without the annotation powervs.cluster.x-k8s.io/create-infra: "true"`
	cluster := func(change func(*infrav1.IBMPowerVSCluster)) client.Object {
		object := least()
		change(object)
		return object
	}
	ofMachine := func(change func(*infrav1.IBMPowerVSMachine)) client.Object {
		object := machine()
		change(object)
		return object
	}
	template := machineTemplate()
	template.Spec.Template.Spec.ServiceInstance = byRegex("w")
	image := &infrav1.IBMPowerVSImage{Spec: infrav1.IBMPowerVSImageSpec{ClusterName: "c", Bucket: "b", Object: "o", Region: "r", ServiceInstance: byRegex("w")}}
	for _, row := range []struct {
		name     string
		object   client.Object
		warnings []string
	}{
		{"nothing", cluster(func(*infrav1.IBMPowerVSCluster) {}), nil},
		{"expressions", cluster(func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.ServiceInstance, c.Spec.Network = byRegex("w"), byRegex("n")
		}), []string{"spec.serviceInstance.regex is ignored: use id or name", "spec.network.regex is ignored: use id or name"}},
		{"a resource group's ID", cluster(func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.ResourceGroup, c.Annotations, c.Spec.VPC = &infrav1.IBMPowerVSResourceReference{ID: "r"}, nil, nil
		}), []string{"spec.resourceGroup.id is ignored: use name"}},
		{"a resource group's expression", cluster(func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.ResourceGroup, c.Annotations, c.Spec.VPC = byRegex("r"), nil, nil
		}), []string{"spec.resourceGroup.regex is ignored: use name"}},
		{"security groups", cluster(func(c *infrav1.IBMPowerVSCluster) {
			rule := infrav1.VPCSecurityGroupRule{Action: "allow", Direction: "outbound", SecurityGroupID: "g", Destination: &infrav1.VPCSecurityGroupRulePrototype{
				Protocol: "all", Remotes: []infrav1.VPCSecurityGroupRuleRemote{{RemoteType: "any"}}}}
			c.Spec.VPCSecurityGroups = []infrav1.VPCSecurityGroup{{ID: "g", Tags: []string{"t"}, Rules: []infrav1.VPCSecurityGroupRule{rule}}}
		}), []string{"spec.vpcSecurityGroups[0].rules are ignored: a security group with an id isn't changed", "spec.vpcSecurityGroups[0].tags are ignored",
			"spec.vpcSecurityGroups[0].rules[0].securityGroupID is ignored: the rule belongs to the security group that it is written in"}},
		{"nothing created", cluster(func(c *infrav1.IBMPowerVSCluster) {
			c.Annotations = nil
			c.Spec.TransitGateway, c.Spec.LoadBalancers = &infrav1.TransitGateway{Name: "t"}, make([]infrav1.VPCLoadBalancerSpec, 1)
		}), []string{"spec.vpc" + without, "spec.transitGateway" + without, "spec.loadBalancers" + without}},
		{"a machine's network", ofMachine(func(m *infrav1.IBMPowerVSMachine) { m.Spec.Network = byRegex("n") }), nil},
		{"a machine's workspace", ofMachine(func(m *infrav1.IBMPowerVSMachine) { m.Spec.ServiceInstance = byRegex("w") }),
			[]string{"spec.serviceInstance.regex is ignored: use id or name"}},
		{"a template's workspace", template, []string{"spec.template.spec.serviceInstance.regex is ignored: use id or name"}},
		{"an image's workspace", image, []string{"spec.serviceInstance.regex is ignored: use id or name"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.object.SetNamespace(namespace)
			row.object.SetGenerateName("warn-")
			NewWithT(t).Expect(c.Create(t.Context(), row.object)).To(Succeed())
			NewWithT(t).Expect(warnings.take()).To(Equal(row.warnings))
		})
	}
}

// Controllers write the object, too.
func TestWarnings_areSaidOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, warnings := listening(t)
	cluster := least()
	cluster.Namespace, cluster.Name = testenv.Namespace(t), "once"
	cluster.Spec.Network = byRegex("n")
	g.Expect(c.Create(t.Context(), cluster)).To(Succeed())
	g.Expect(warnings.take()).To(HaveLen(1))
	cluster.Labels = map[string]string{"a": "b"}
	g.Expect(c.Update(t.Context(), cluster)).To(Succeed())
	g.Expect(warnings.take()).To(BeEmpty())
	cluster.Spec.ServiceInstance = byRegex("w")
	g.Expect(c.Update(t.Context(), cluster)).To(Succeed())
	g.Expect(warnings.take()).To(ConsistOf("spec.serviceInstance.regex is ignored: use id or name"))
}
