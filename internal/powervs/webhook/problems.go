package webhook

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/validation"
)

// withCreateInfra begins what is only true with that annotation.
const withCreateInfra = "with the annotation " + infrav1.CreateInfraAnnotation + `: "true" `

func (f Features) newClusterProblems(_ context.Context, before, after *infrav1.IBMPowerVSCluster) (field.ErrorList, error) {
	return append(validation.New(f.clusterProblems(before), f.clusterProblems(after)), changeProblems(before, after)...), nil
}

func (f Features) clusterProblems(c *infrav1.IBMPowerVSCluster) field.ErrorList {
	path := field.NewPath("spec")
	problems := annotationProblems(field.NewPath("metadata", "annotations"), c.Annotations)
	problems = append(problems, f.specProblems(path, &c.Spec)...)
	problems = append(problems, sameNames(subnetsOf(c))...)
	problems = append(problems, sameNames(loadBalancersOf(c))...)
	if c.CreatesInfra() {
		problems = append(problems, missing(path, &c.Spec)...)
	}
	return problems
}

func annotationProblems(path *field.Path, annotations map[string]string) field.ErrorList {
	value, set := annotations[infrav1.CreateInfraAnnotation]
	if _, err := strconv.ParseBool(value); set && err != nil {
		return field.ErrorList{field.Invalid(path.Key(infrav1.CreateInfraAnnotation), value, `must be "true" or "false"`)}
	}
	return nil
}

// specProblems are those that a template has, too.
func (f Features) specProblems(path *field.Path, spec *infrav1.IBMPowerVSClusterSpec) (problems field.ErrorList) {
	if spec.Ignition != nil && !f.BootstrapFormatIgnition {
		problems = append(problems, field.Forbidden(path.Child("ignition"),
			"start the manager with --feature-gates=BootstrapFormatIgnition=true first, or remove ignition"))
	}
	for i, balancer := range spec.LoadBalancers {
		ports, at := map[string]int64{}, path.Child("loadBalancers").Index(i) // by the pool
		for _, listener := range balancer.AdditionalListeners {
			problems = append(problems, metav1validation.ValidateLabelSelector(&listener.Selector, metav1validation.LabelSelectorValidationOptions{},
				listenerPath(at, listener).Child("selector"))...)
			pool := listener.PoolName()
			if port, shared := ports[pool]; shared && balancer.ID == "" {
				problems = append(problems, field.Invalid(listenerPath(at, listener).Child("defaultPoolName"), pool, fmt.Sprintf(
					"is the pool of port %d, too, so that each of the ports would lead to both ports of the machines: give each a pool of its own", port)))
			}
			ports[pool] = listener.Port
		}
	}
	return problems
}

// missing are the fields without which nothing can be created.
func missing(path *field.Path, spec *infrav1.IBMPowerVSClusterSpec) (problems field.ErrorList) {
	require := func(value string, path *field.Path, why string) {
		if value == "" {
			problems = append(problems, field.Required(path, why))
		}
	}
	var group infrav1.IBMPowerVSResourceReference
	if spec.ResourceGroup != nil {
		group = *spec.ResourceGroup
	}
	var vpc infrav1.VPCResourceReference
	if spec.VPC != nil {
		vpc = *spec.VPC
	}
	require(spec.Zone, path.Child("zone"), withCreateInfra+"set the PowerVS zone of the cluster, such as dal10")
	require(group.Name, path.Child("resourceGroup", "name"), withCreateInfra+"set the name of the resource group to create resources in")
	require(vpc.Region, path.Child("vpc", "region"), withCreateInfra+"set the region of the VPC, such as us-south")
	if spec.Ignition == nil {
		return problems
	}
	var cos infrav1.CosInstance
	if spec.CosInstance != nil {
		cos = *spec.CosInstance
	}
	const why = withCreateInfra + "and ignition set the "
	require(cos.Name, path.Child("cosInstance", "name"), why+"name of the Cloud Object Storage instance for bootstrap data")
	require(cos.BucketName, path.Child("cosInstance", "bucketName"), why+"name of the bucket for bootstrap data")
	require(cos.BucketRegion, path.Child("cosInstance", "bucketRegion"), why+"region of the bucket for bootstrap data, such as us-south")
	return problems
}

// Names of resources, and what is said of others.
var (
	vpcName      = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	dhcpName     = regexp.MustCompile(`^[a-zA-Z0-9-]{1,63}$`)
	vpcNameRule  = "at most 63 lower case letters, digits and dashes, of which the first is a letter"
	dhcpNameRule = "at most 63 letters, digits and dashes"
)

// nameProblems are those of names that are made of the object's name. It never changes, so they are looked for once.
func nameProblems(c *infrav1.IBMPowerVSCluster) (problems field.ErrorList) {
	if !c.CreatesInfra() {
		return nil
	}
	check := func(set bool, name string, allowed *regexp.Regexp, rule, instead string) {
		if !set && !allowed.MatchString(name) {
			problems = append(problems, field.Invalid(field.NewPath("metadata", "name"), c.Name,
				fmt.Sprintf("%s is named after it, and must have %s: choose another name, or set %s", name, rule, instead)))
		}
	}
	spec := &c.Spec
	check(spec.VPC != nil && (spec.VPC.ID != "" || spec.VPC.Name != ""), c.VPCName(), vpcName, vpcNameRule, "spec.vpc.name")
	check(spec.TransitGateway != nil && (spec.TransitGateway.ID != "" || spec.TransitGateway.Name != ""),
		c.TransitGatewayName(), vpcName, vpcNameRule, "spec.transitGateway.name")
	check(spec.Network != nil && spec.Network.ID != "" || spec.DHCPServer != nil && (spec.DHCPServer.ID != "" || spec.DHCPServer.Name != ""),
		c.DHCPServerName(), dhcpName, dhcpNameRule, "spec.dhcpServer.name")
	if spec.VPC != nil { // zones of a region are numbered
		check(len(spec.VPCSubnets) > 0, c.SubnetNameIn(spec.VPC.Region+"-1"), vpcName, vpcNameRule, "spec.vpcSubnets with names")
	}
	check(len(spec.LoadBalancers) > 0, c.DefaultLoadBalancerName(), vpcName, vpcNameRule, "spec.loadBalancers with a name")
	for _, list := range [][]entry{subnetsOf(c), loadBalancersOf(c)} {
		for _, e := range list {
			check(!e.unnamed(), e.name, vpcName, vpcNameRule, e.path.Child("name").String())
		}
	}
	return problems
}

func machineProblems(path *field.Path, spec *infrav1.IBMPowerVSMachineSpec) field.ErrorList {
	if spec.Network == nil || spec.Network.RegEx == "" {
		return nil
	}
	if _, err := regexp.Compile(spec.Network.RegEx); err != nil {
		return field.ErrorList{field.Invalid(path.Child("network", "regex"), spec.Network.RegEx,
			fmt.Sprintf("isn't a regular expression (RE2): %s. Correct it, or use id or name", err))}
	}
	return nil
}
