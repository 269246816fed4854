package webhook

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
)

func clusterWarnings(c *infrav1.IBMPowerVSCluster) (warnings []string) {
	path, spec := field.NewPath("spec"), &c.Spec
	warnings = append(warnings, regexIgnored(path.Child("serviceInstance"), spec.ServiceInstance)...)
	warnings = append(warnings, regexIgnored(path.Child("network"), spec.Network)...)
	if group := spec.ResourceGroup; group != nil {
		if group.ID != "" {
			warnings = append(warnings, fmt.Sprintf("%s is ignored: use name", path.Child("resourceGroup", "id")))
		}
		if group.RegEx != "" {
			warnings = append(warnings, fmt.Sprintf("%s is ignored: use name", path.Child("resourceGroup", "regex")))
		}
	}
	for i, group := range spec.VPCSecurityGroups {
		warnings = append(warnings, groupWarnings(path.Child("vpcSecurityGroups").Index(i), group)...)
	}
	if !c.CreatesInfra() {
		warnings = append(warnings, unused(path, spec)...)
	}
	return warnings
}

func regexIgnored(path *field.Path, reference *infrav1.IBMPowerVSResourceReference) []string {
	if reference == nil || reference.RegEx == "" {
		return nil
	}
	return []string{fmt.Sprintf("%s is ignored: use id or name", path.Child("regex"))}
}

func groupWarnings(path *field.Path, group infrav1.VPCSecurityGroup) (warnings []string) {
	if group.ID != "" && len(group.Rules) > 0 {
		warnings = append(warnings, fmt.Sprintf("%s are ignored: a security group with an id isn't changed", path.Child("rules")))
	}
	if len(group.Tags) > 0 {
		warnings = append(warnings, fmt.Sprintf("%s are ignored", path.Child("tags")))
	}
	for i, rule := range group.Rules {
		if rule.SecurityGroupID != "" {
			warnings = append(warnings, fmt.Sprintf("%s is ignored: the rule belongs to the security group that it is written in",
				path.Child("rules").Index(i).Child("securityGroupID")))
		}
	}
	return warnings
}

// unused is what has no effect without the annotation.
func unused(path *field.Path, spec *infrav1.IBMPowerVSClusterSpec) (warnings []string) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"dhcpServer", spec.DHCPServer != nil}, {"vpc", spec.VPC != nil}, {"vpcSubnets", len(spec.VPCSubnets) > 0},
		{"vpcSecurityGroups", len(spec.VPCSecurityGroups) > 0}, {"transitGateway", spec.TransitGateway != nil},
		{"loadBalancers", len(spec.LoadBalancers) > 0}, {"cosInstance", spec.CosInstance != nil},
	} {
		if f.set {
			warnings = append(warnings, fmt.Sprintf(`%s is ignored without the annotation %s: "true"`, path.Child(f.name), infrav1.CreateInfraAnnotation))
		}
	}
	return warnings
}
