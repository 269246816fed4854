package describe_test

import (
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/describe"
	"github.com/bedplate/bedplate/internal/ledgers"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now.Add(-90 * time.Second))}
}

func TestPrint_showsWhatThereIsAndWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ready := condition("Ready", metav1.ConditionTrue, "Ready", "")
	notReady := condition("Ready", metav1.ConditionFalse, "Quota", "InstanceProvisioned: create instance: 400: no machines are available")
	notAvailable := condition("Available", metav1.ConditionFalse, "NotAvailable", "* WorkersAvailable:\n  * 0 of 1")
	root := &describe.Object{
		Kind: "Cluster", Name: "demo", State: &notAvailable,
		Children: []*describe.Object{
			{
				Kind: "NvidiaBMMCluster", Name: "demo", Role: "ClusterInfrastructure", State: &ready, Conditions: []metav1.Condition{ready},
				Outside: []ledgers.Resource{
					{Key: "site", Kind: "site", ID: "s-1"},
					{Key: "subnet/nodes", Kind: "subnet", Own: true},
					{Key: "vpc", Kind: "VPC", ID: "v-1", Own: true},
				},
			},
			{Kind: "WorkerGroup", Name: "Workers", Role: "Workers", Children: []*describe.Object{{
				Kind: "NvidiaBMMMachine", Name: "worker-1", State: &notReady,
				Conditions: []metav1.Condition{
					condition("BootstrapDataReady", metav1.ConditionTrue, "Ready", ""),
					condition("InstanceProvisioned", metav1.ConditionFalse, "Quota", "create instance: 400: no machines are available"),
					condition("Paused", metav1.ConditionFalse, "NotPaused", ""),
					notReady,
				},
			}}},
		},
	}
	var out strings.Builder
	g.Expect(describe.Print(&out, root, now)).To(Succeed())
	golden, err := os.ReadFile("testdata/tree.txt")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.String()).To(Equal(string(golden)), "\n%s", out.String())
}

// What a condition says is often what a tenant's server says, and IDs are its own: the tree is read by an operator.
func TestPrint_letsNoTextMoveTheCursorOrBeginALine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const evil = "a\x1b[2J\rNothing is wrong.\u202e"
	trouble := condition("Ready", metav1.ConditionFalse, "Invalid", evil+"\nsecond line")
	var out strings.Builder
	g.Expect(describe.Print(&out, &describe.Object{
		Kind: "Cluster", Name: evil, State: &trouble, Outside: []ledgers.Resource{{Key: "vpc", Kind: "VPC", ID: evil + "\nCluster/demo  True", Own: true}},
		Details: []describe.Detail{{Name: "address", Text: evil}},
	}, now)).To(Succeed())
	g.Expect(out.String()).To(MatchRegexp(`\n +second line\n`), "a message may have several lines")
	for line := range strings.Lines(out.String()) {
		g.Expect(line).NotTo(HavePrefix("Cluster/demo"))
		g.Expect(line).NotTo(MatchRegexp(`[\x00-\x09\x0b-\x1f\x7f\x{202e}]`))
	}
}
