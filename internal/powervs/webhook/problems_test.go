package webhook

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
)

// It may have come into being before there was a webhook, or while the manager ran with other flags.
func TestCluster_withAnOldProblemCanStillBeChangedAndGo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	before := &infrav1.IBMPowerVSCluster{}
	before.Finalizers = []string{infrav1.ClusterFinalizer}
	before.Annotations = map[string]string{infrav1.CreateInfraAnnotation: "true"}
	before.Spec.Ignition = &infrav1.Ignition{}

	after := before.DeepCopy()
	after.Finalizers = nil
	g.Expect(Features{}.clusterProblems(after)).To(HaveLen(7))
	g.Expect(Features{}.newClusterProblems(t.Context(), before, after)).To(BeEmpty())

	before.Spec.Zone = "dal10"
	g.Expect(Features{}.newClusterProblems(t.Context(), before, after)).To(ConsistOf(HaveField("Field", "spec.zone")))
}

// entries are subnets: one for each word, "." is one without a name, and a word that begins with "#" is an ID.
func subnetEntries(words string) []entry {
	c := &infrav1.IBMPowerVSCluster{}
	c.Name = "c"
	for word := range strings.FieldsSeq(words) {
		switch {
		case word == ".":
			c.Spec.VPCSubnets = append(c.Spec.VPCSubnets, infrav1.Subnet{})
		case word[0] == '#':
			c.Spec.VPCSubnets = append(c.Spec.VPCSubnets, infrav1.Subnet{ID: word})
		default:
			c.Spec.VPCSubnets = append(c.Spec.VPCSubnets, infrav1.Subnet{Name: word})
		}
	}
	return subnetsOf(c)
}

// Whatever is done to a list: a change that is taken leaves every resource that was named by its place alone, unless the list has become
// too short for it; and none that had a name becomes another by its place.
func FuzzEntries_keepTheirPlace(f *testing.F) {
	for _, seed := range [][2]string{{"a . .", ". ."}, {". b", "b ."}, {"a .", "a c-vpcsubnet-1"}, {"#1 .", ". #1"}, {". .", "c-vpcsubnet-1 c-vpcsubnet-0"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, was, becomes string) {
		before, after := subnetEntries(was), subnetEntries(becomes)
		if len(entryProblems(before, after)) > 0 {
			return
		}
		for i, b := range before {
			if !b.unnamed() || i >= len(after) {
				continue
			}
			stays := false
			for _, a := range after {
				stays = stays || a.same(b)
			}
			if !stays {
				t.Errorf("%q to %q takes %s away from its place", was, becomes, b.name)
			}
		}
		if problems := entryProblems(before, before); len(problems) > 0 {
			t.Errorf("%q can't stay: %v", was, problems)
		}
	})
}

func FuzzNameProblems_refuseWhatTheVPCWould(f *testing.F) {
	f.Add("demo", "us-south")
	f.Add("a.b", "us-south")
	f.Add(strings.Repeat("a", 60), "eu-de")
	f.Fuzz(func(t *testing.T, name, region string) {
		c := &infrav1.IBMPowerVSCluster{}
		c.Name, c.Annotations = name, map[string]string{infrav1.CreateInfraAnnotation: "true"}
		c.Spec.VPC = &infrav1.VPCResourceReference{Region: region}
		if len(nameProblems(c)) > 0 {
			return
		}
		for _, made := range []string{c.VPCName(), c.TransitGatewayName(), c.SubnetNameIn(region + "-1"), c.DefaultLoadBalancerName()} {
			if len(made) > 63 || strings.ContainsAny(made, "._ ") || strings.HasSuffix(made, "-") {
				t.Errorf("%q is taken, which makes %q", name, made)
			}
		}
	})
}
