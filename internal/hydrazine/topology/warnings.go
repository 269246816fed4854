package topology

import (
	"fmt"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// warn of what can't be expressed of security groups. The API server has refused most of it.
func (t *Topology) warn() {
	for _, m := range t.Members {
		for _, name := range m.SecurityGroups {
			if !t.Group.hasSecurityGroup(name) {
				t.Warnings[m.UID] = append(t.Warnings[m.UID], fmt.Sprintf("there is no security group %q: nothing passes by it", name))
			}
		}
	}
	own := func(format string, args ...any) {
		t.Warnings[t.Group.UID] = append(t.Warnings[t.Group.UID], fmt.Sprintf(format, args...))
	}
	for _, s := range t.Group.SecurityGroups {
		for i, rule := range s.Rules {
			for _, name := range rule.SecurityGroups {
				if !t.Group.hasSecurityGroup(name) {
					own("rule %d of security group %q names %q, which doesn't exist: it has no members", i+1, s.Name, name)
				}
			}
			if len(t.Group.matches(resourcev1.SecurityGroup{Name: s.Name, Rules: []resourcev1.SecurityRule{rule}})) == 0 {
				own("rule %d of security group %q lets nothing through", i+1, s.Name)
			}
		}
	}
}
