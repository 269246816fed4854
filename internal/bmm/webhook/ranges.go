package webhook

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
)

// ipRange is the range of a subnet or of a VPC prefix.
type ipRange struct {
	path   *field.Path
	of     string // such as "subnet nodes"
	prefix netip.Prefix
}

// rangeProblems are the ranges that lie outside of the block to make for them, and those that overlap an earlier one.
func rangeProblems(path *field.Path, spec *infrav1.NvidiaBMMClusterSpec) (problems field.ErrorList) {
	block, hasBlock := blockToMake(spec)
	ranges := rangesOf(path, spec)
	for i, r := range ranges {
		if hasBlock && (r.prefix.Bits() < block.Bits() || !block.Contains(r.prefix.Addr())) {
			problems = append(problems, field.Invalid(r.path, r.prefix.String(),
				fmt.Sprintf("lies outside of ipBlock.create.prefix %s: choose a range within it", block)))
		}
		for _, earlier := range ranges[:i] {
			if r.prefix.Overlaps(earlier.prefix) {
				problems = append(problems, field.Invalid(r.path, r.prefix.String(),
					fmt.Sprintf("overlaps %s of %s: choose ranges that don't", earlier.prefix, earlier.of)))
			}
		}
	}
	return problems
}

func blockToMake(spec *infrav1.NvidiaBMMClusterSpec) (netip.Prefix, bool) {
	if spec.IPBlock == nil || spec.IPBlock.Create == nil {
		return netip.Prefix{}, false
	}
	block, err := netip.ParsePrefix(spec.IPBlock.Create.Prefix)
	return block, err == nil
}

// rangesOf leaves out what isn't a range: the CRD's own rules have refused it already.
func rangesOf(path *field.Path, spec *infrav1.NvidiaBMMClusterSpec) (ranges []ipRange) {
	add := func(list, kind, name, cidr string) {
		if prefix, err := netip.ParsePrefix(cidr); err == nil {
			ranges = append(ranges, ipRange{path.Child(list).Key(name).Child("cidr"), kind + " " + name, prefix})
		}
	}
	for _, s := range spec.Subnets {
		add("subnets", "subnet", s.Name, s.CIDR)
	}
	for _, p := range spec.VPCPrefixes {
		add("vpcPrefixes", "VPC prefix", p.Name, p.CIDR)
	}
	return ranges
}
