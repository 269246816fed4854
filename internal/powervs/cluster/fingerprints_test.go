package cluster_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
)

// Ledgers have the fingerprint of what a resource was made by. If that of the same spec were another one, as a field was added that isn't
// omitted when it is empty, or fields in another order, what exists would be Invalid after an upgrade. So the file only gets more lines.
func TestFingerprints_areTheSameInEachVersion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	golden, err := os.ReadFile("testdata/fingerprints.golden")
	g.Expect(err).NotTo(HaveOccurred())
	var lines []string
	for name, change := range map[string]func(*infrav1.IBMPowerVSCluster){
		"least": func(*infrav1.IBMPowerVSCluster) {},
		"most":  most,
	} {
		f := powervstest.Start(t)
		c := f.CreateCluster("demo", change)
		f.UntilReady(c)
		for _, e := range f.Ledger(c).Spec.Entries {
			if made := e.Params["entry"]; made != "" {
				lines = append(lines, fmt.Sprintln(name, e.Key, made))
			}
		}
	}
	slices.Sort(lines)
	g.Expect(strings.Join(lines, "")).To(Equal(string(golden)))
}

// most has all fields that go into a fingerprint, each with another value than its default.
func most(c *infrav1.IBMPowerVSCluster) {
	group, one := []infrav1.VPCResource{{Name: "group"}}, []infrav1.VPCResource{{Name: "one"}}
	c.Spec.DHCPServer = &infrav1.DHCPServer{Cidr: "192.168.77.0/24", DNSServer: "9.9.9.9", Snat: ptr.To(false)}
	c.Spec.TransitGateway = &infrav1.TransitGateway{GlobalRouting: ptr.To(true)}
	c.Spec.VPCSubnets, c.Spec.VPCSecurityGroups = []infrav1.Subnet{{Name: "one"}}, []infrav1.VPCSecurityGroup{{Name: "group"}}
	c.Spec.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{Name: "front"}, {
		Name: "inside", Public: ptr.To(false), SecurityGroups: group, Subnets: one,
		AdditionalListeners: []infrav1.AdditionalListenerSpec{{
			Port: 8443, Protocol: infrav1.LoadBalancerProtocolTCP, DefaultPoolName: "pool", Selector: metav1.LabelSelector{
				MatchLabels:      map[string]string{"a": "b"},
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "c", Operator: metav1.LabelSelectorOpIn, Values: []string{"d"}}},
			},
		}},
		BackendPools: []infrav1.VPCLoadBalancerBackendPoolSpec{{
			Name: "pool", Algorithm: "least_connections", Protocol: infrav1.LoadBalancerProtocolTCP,
			HealthMonitor: infrav1.VPCLoadBalancerHealthMonitorSpec{Type: "http", Delay: 7, Timeout: 3, Retries: 4, Port: 8080, URLPath: "/healthz"},
		}},
	}}
}
