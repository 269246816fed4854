package webhook_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/testenv"
)

var no = false

// lists is a cluster whose lists have entries with and without names, of which all were made.
func lists() *infrav1.IBMPowerVSCluster {
	c := unmade()
	c.Status.VPCSubnet = map[string]infrav1.ResourceReference{"a": {ID: "1"}, "demo-vpcsubnet-1": {ID: "2"}, "demo-vpcsubnet-2": {ID: "3"}}
	c.Status.LoadBalancers = map[string]infrav1.VPCLoadBalancerStatus{"demo-loadbalancer-0": {ID: "4"}, "inside": {ID: "5"}}
	return c
}

func unmade() *infrav1.IBMPowerVSCluster {
	c := least()
	c.Name = "demo"
	c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "a", Zone: "us-south-1"}, {Zone: "us-south-2"}, {Zone: "us-south-3"}, {ID: "0717-x"}}
	ssh := infrav1.AdditionalListenerSpec{Port: 22, Selector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "bastion"}}}
	c.Spec.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{AdditionalListeners: []infrav1.AdditionalListenerSpec{ssh}}, {Name: "inside", Public: &no}}
	return c
}

func because(condition, reason string) func() *infrav1.IBMPowerVSCluster {
	return func() *infrav1.IBMPowerVSCluster {
		c := lists()
		c.Status.Conditions = []metav1.Condition{{Type: condition, Status: metav1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.Now()}}
		return c
	}
}

// checkLists is like checkChanges, each in a namespace of its own: places make names of the object's name.
func checkLists(t *testing.T, valid func() *infrav1.IBMPowerVSCluster, changes []change[*infrav1.IBMPowerVSCluster]) {
	t.Helper()
	for _, row := range changes {
		object := valid()
		object.SetNamespace(testenv.Namespace(t))
		testenv.Updated(t, row.name, object, row.change, row.message)
	}
}

func TestEntries_withoutANameKeepTheirPlace(t *testing.T) {
	t.Parallel()
	subnets := func(entries ...infrav1.Subnet) func(*infrav1.IBMPowerVSCluster) {
		return func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets = entries }
	}
	a, one, two, byID := infrav1.Subnet{Name: "a", Zone: "us-south-1"}, infrav1.Subnet{Zone: "us-south-2"}, infrav1.Subnet{Zone: "us-south-3"}, infrav1.Subnet{ID: "0717-x"}
	named := func(s infrav1.Subnet, name string) infrav1.Subnet {
		s.Name = name
		return s
	}
	checkLists(t, lists, []change[*infrav1.IBMPowerVSCluster]{
		{"nothing", func(*infrav1.IBMPowerVSCluster) {}, ""},
		{"another at the end", subnets(a, one, two, byID, infrav1.Subnet{Name: "b"}), ""},
		{"another without a name at the end", subnets(a, one, two, byID, infrav1.Subnet{}), ""},
		{"the last ones removed", subnets(a, one), ""},
		{"all removed", subnets(), ""},
		{"the first one removed", subnets(one, two, byID), `spec.vpcSubnets[0]: Invalid value: "": an entry without a name is named by its place, ` +
			"demo-vpcsubnet-0 here, where a was: leave that here, or give this one a name"},
		{"the first one removed, and the others named", subnets(named(one, "demo-vpcsubnet-1"), named(two, "demo-vpcsubnet-2"), byID), ""},
		{"one without a name removed", subnets(a, two, byID), `spec.vpcSubnets[2]: Invalid value: "0717-x": the entry that was here has no name, ` +
			"so that its place names it: leave it here, or give it its name demo-vpcsubnet-2"},
		{"one put before", subnets(infrav1.Subnet{Name: "b"}, a, one, two), `spec.vpcSubnets[1]: Invalid value: "a": the entry that was here has no name, ` +
			"so that its place names it: leave it here, or give it its name demo-vpcsubnet-1"},
		{"named otherwise", subnets(a, named(one, "b"), two, byID), "spec.vpcSubnets[1]: Invalid value: \"b\": the entry that was here has no name"},
		{"named as it is", subnets(a, named(one, "demo-vpcsubnet-1"), two, byID), ""},
		{"two of them exchanged", subnets(a, two, one, byID), "spec.vpcSubnets[1]: Invalid value: \"demo-vpcsubnet-1\": the subnet can't be changed once it was found or made"},
		{"balancers exchanged", func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.LoadBalancers[0], c.Spec.LoadBalancers[1] = c.Spec.LoadBalancers[1], c.Spec.LoadBalancers[0]
		}, `spec.loadBalancers[0]: Invalid value: "inside": the entry that was here has no name`},
	})
}

func TestEntries_stayAsTheyWereMade(t *testing.T) {
	t.Parallel()
	const subnet = `spec.vpcSubnets[0]: Invalid value: "a": the subnet can't be changed once it was found or made: ` +
		"put back what it was, or replace it by one with another name"
	const balancer = `spec.loadBalancers[1]: Invalid value: "inside": the load balancer can't be changed once it was found or made`
	rows := []change[*infrav1.IBMPowerVSCluster]{
		{"a subnet's zone", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets[0].Zone = "us-south-3" }, subnet},
		{"a subnet's range", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets[0].Ipv4CidrBlock = "10.0.0.0/24" }, subnet},
		{"a balancer's listeners", func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.LoadBalancers[1].AdditionalListeners = []infrav1.AdditionalListenerSpec{{Port: 80}}
		}, balancer},
	}
	checkLists(t, lists, rows)
	checkLists(t, lists, []change[*infrav1.IBMPowerVSCluster]{
		{"moved", func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.VPCSubnets = append(c.Spec.VPCSubnets, infrav1.Subnet{Name: "a", Zone: "us-south-1"})
			c.Spec.VPCSubnets[0] = infrav1.Subnet{Name: "b"}
		}, ""},
		{"replaced", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets[0] = infrav1.Subnet{Name: "b"} }, ""},
	})
	for i := range rows {
		rows[i].message = ""
	}
	checkLists(t, unmade, rows)
	checkLists(t, because(infrav1.VPCSubnetReadyCondition, "Invalid"), rows[:2])
	checkLists(t, because(infrav1.LoadBalancerReadyCondition, "Conflict"), rows[2:])
	rows[0].message = subnet
	checkLists(t, because(infrav1.VPCSubnetReadyCondition, "Waiting"), rows[:1])
}

func TestSelectors_areImmutable(t *testing.T) {
	t.Parallel()
	const message = `spec.loadBalancers[0].additionalListeners[22].selector: Invalid value`
	rows := []change[*infrav1.IBMPowerVSCluster]{
		{"another", func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.LoadBalancers[0].AdditionalListeners[0].Selector.MatchLabels = map[string]string{"role": "worker"}
		}, message},
		{"none", func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.LoadBalancers[0].AdditionalListeners[0].Selector = metav1.LabelSelector{}
		}, message},
	}
	checkLists(t, unmade, rows)
	checkLists(t, unmade, []change[*infrav1.IBMPowerVSCluster]{
		{"on another port", func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.LoadBalancers[0].AdditionalListeners[0].Port = 23
			c.Spec.LoadBalancers[0].AdditionalListeners[0].Selector = metav1.LabelSelector{}
		}, ""},
	})
}

func TestAnnotation_isImmutableOnceSomethingWasMade(t *testing.T) {
	t.Parallel()
	const message = "metadata.annotations[powervs.cluster.x-k8s.io/create-infra]: Invalid value"
	off := func(c *infrav1.IBMPowerVSCluster) { c.Annotations = nil }
	on := func(c *infrav1.IBMPowerVSCluster) {
		c.Annotations = map[string]string{infrav1.CreateInfraAnnotation: "true"}
	}
	with := func(status infrav1.IBMPowerVSClusterStatus, change func(*infrav1.IBMPowerVSCluster)) func() *infrav1.IBMPowerVSCluster {
		return func() *infrav1.IBMPowerVSCluster {
			c := least()
			change(c)
			c.Status = status
			return c
		}
	}
	moved := func(c *infrav1.IBMPowerVSCluster) {
		c.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""}
	}
	made := infrav1.IBMPowerVSClusterStatus{VPC: &infrav1.ResourceReference{ID: "v"}}
	checkChanges(t, least, []change[*infrav1.IBMPowerVSCluster]{{"off, nothing made", off, ""}})
	checkChanges(t, with(made, on), []change[*infrav1.IBMPowerVSCluster]{
		{"off", off, message}, {"in other words", func(c *infrav1.IBMPowerVSCluster) { c.Annotations[infrav1.CreateInfraAnnotation] = "1" }, ""},
		{"moved by clusterctl, which overwrites all annotations", moved, ""},
	})
	checkChanges(t, with(made, moved), []change[*infrav1.IBMPowerVSCluster]{
		{"on, as the move was given up", on, ""}, {"still off, as the move was given up", off, message},
	})
	checkChanges(t, with(infrav1.IBMPowerVSClusterStatus{}, off), []change[*infrav1.IBMPowerVSCluster]{{"on, nothing made", on, ""}})
	checkChanges(t, with(made, off), []change[*infrav1.IBMPowerVSCluster]{{"on", on, message}})
}
