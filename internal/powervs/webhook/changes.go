package webhook

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
)

// entry of a list in which a name may be left out: the place in the list names the resource then.
type entry struct {
	path             *field.Path
	kind             string // such as "subnet"
	id, given, name  string // name is the one that the spec gives, or else the one by its place
	fixed            any    // what can't be changed once it was found or made
	made, changeable bool   // changeable: a condition asks for a change
}

func (e entry) unnamed() bool { return e.id == "" && e.given == "" }

// same resource: an ID is looked at before a name.
func (e entry) same(other entry) bool {
	return e.id == other.id && (e.id != "" || e.name == other.name)
}

func subnetsOf(c *infrav1.IBMPowerVSCluster) (entries []entry) {
	for i, s := range c.Spec.VPCSubnets {
		e := entry{
			path: field.NewPath("spec", "vpcSubnets").Index(i), kind: "subnet", id: s.ID, given: s.Name, name: c.SubnetName(i),
			changeable: asksForAChange(c, infrav1.VPCSubnetReadyCondition),
		}
		e.made = c.Status.VPCSubnet[e.name].ID != ""
		s.Name = ""
		e.fixed = s
		entries = append(entries, e)
	}
	return entries
}

func loadBalancersOf(c *infrav1.IBMPowerVSCluster) (entries []entry) {
	for i, b := range c.Spec.LoadBalancers {
		e := entry{
			path: field.NewPath("spec", "loadBalancers").Index(i), kind: "load balancer", id: b.ID, given: b.Name, name: c.LoadBalancerName(i),
			changeable: asksForAChange(c, infrav1.LoadBalancerReadyCondition),
		}
		e.made = c.Status.LoadBalancers[e.name].ID != ""
		b.Name = ""
		e.fixed = b
		entries = append(entries, e)
	}
	return entries
}

// asksForAChange is what the CRD's own rules of immutable fields ask, too.
func asksForAChange(c *infrav1.IBMPowerVSCluster, condition string) bool {
	for _, have := range c.Status.Conditions {
		if have.Type == condition {
			return slices.Contains([]string{"ClaimChanged", "Conflict", "Invalid", "Missing"}, have.Reason)
		}
	}
	return false
}

// sameNames are entries that are given the name that an earlier or later one has by its place. Names that are given twice are for the
// CRD's own rules.
func sameNames(entries []entry) (problems field.ErrorList) {
	for i, a := range entries {
		for k, b := range entries {
			if a.given != "" && b.unnamed() && a.name == b.name && i != k {
				problems = append(problems, field.Invalid(a.path.Child("name"), a.name,
					fmt.Sprintf("is the name that %s, which has none, gets by its place: choose another one, or name that, too", b.path)))
			}
		}
	}
	return problems
}

// changeProblems are what can't be changed.
func changeProblems(before, after *infrav1.IBMPowerVSCluster) (problems field.ErrorList) {
	if changesInfra(before, after) && anythingMade(&before.Status) {
		problems = append(problems, field.Invalid(field.NewPath("metadata", "annotations").Key(infrav1.CreateInfraAnnotation),
			after.Annotations[infrav1.CreateInfraAnnotation], "is immutable once something was found or made: put back "+
				strconv.FormatBool(!after.CreatesInfra())+", or make another cluster"))
	}
	problems = append(problems, entryProblems(subnetsOf(before), subnetsOf(after))...)
	problems = append(problems, entryProblems(loadBalancersOf(before), loadBalancersOf(after))...)
	problems = append(problems, heldProblems(before, after)...)
	problems = append(problems, rangeProblems(before, after)...)
	return append(problems, selectorProblems(before, after)...)
}

// changesInfra reports whether an annotation changes that says whether infrastructure is created. Clusterctl takes it off; if its move is
// given up, it has to be put back where there is a VPC: all that was made would be deleted.
func changesInfra(before, after *infrav1.IBMPowerVSCluster) bool {
	switch {
	case isMoved(after):
		return false
	case isMoved(before):
		return before.Status.VPC != nil && !after.CreatesInfra()
	}
	return before.CreatesInfra() != after.CreatesInfra()
}

// isMoved reports whether clusterctl has moved an object, which it says by an annotation that replaces all others.
func isMoved(c *infrav1.IBMPowerVSCluster) bool {
	_, is := c.Annotations[clusterctlv1.DeleteForMoveAnnotation]
	return is
}

func anythingMade(s *infrav1.IBMPowerVSClusterStatus) bool {
	for _, r := range []*infrav1.ResourceReference{s.ResourceGroup, s.ServiceInstance, s.Network, s.DHCPServer, s.VPC, s.COSInstance} {
		if r != nil && r.ID != "" {
			return true
		}
	}
	return s.TransitGateway != nil && s.TransitGateway.ID != "" || s.Initialization.Provisioned != nil
}

func entryProblems(before, after []entry) (problems field.ErrorList) {
	for i, a := range after {
		if i < len(before) {
			problems = append(problems, placeProblems(before[i], a, before, after)...)
		}
		for _, b := range before {
			if a.same(b) && b.made && !b.changeable && !equality.Semantic.DeepEqual(a.fixed, b.fixed) {
				problems = append(problems, field.Invalid(a.path, a.name, fmt.Sprintf(
					"the %s can't be changed once it was found or made: put back what it was, or replace it by one with another name", a.kind)))
			}
		}
	}
	return problems
}

// placeProblems are those of an entry in a place where another one was. A name that moves from the place into the entry, or back, is
// still the same resource.
func placeProblems(b, a entry, before, after []entry) field.ErrorList {
	had := func(e entry) bool { return slices.ContainsFunc(before, e.same) }
	has := func(e entry) bool { return slices.ContainsFunc(after, e.same) }
	switch {
	case b.unnamed() && !a.unnamed() && !has(b):
		return field.ErrorList{field.Invalid(a.path, a.id+a.given, fmt.Sprintf(
			"the entry that was here has no name, so that its place names it: leave it here, or give it its name %s", b.name))}
	case a.unnamed() && !b.unnamed() && !had(a):
		return field.ErrorList{field.Invalid(a.path, a.given, fmt.Sprintf(
			"an entry without a name is named by its place, %s here, where %s was: leave that here, or give this one a name",
			a.name, b.id+b.given))}
	}
	return nil
}

// selectorProblems are selectors that differ from those before. Which machines a port leads to isn't found out again.
func selectorProblems(before, after *infrav1.IBMPowerVSCluster) (problems field.ErrorList) {
	had := loadBalancersOf(before)
	for i, entry := range loadBalancersOf(after) {
		k := slices.IndexFunc(had, entry.same)
		if k < 0 {
			continue
		}
		for _, now := range after.Spec.LoadBalancers[i].AdditionalListeners {
			for _, then := range before.Spec.LoadBalancers[k].AdditionalListeners {
				if now.Port == then.Port && !equality.Semantic.DeepEqual(now.Selector, then.Selector) {
					problems = append(problems, field.Invalid(listenerPath(entry.path, now).Child("selector"), now.Selector,
						"is immutable: put back what it was, or use another port"))
				}
			}
		}
	}
	return problems
}

func listenerPath(balancer *field.Path, l infrav1.AdditionalListenerSpec) *field.Path {
	return balancer.Child("additionalListeners").Key(strconv.FormatInt(l.Port, 10))
}
