package actuator

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bedplate/bedplate/internal/bmm/actuator/providerspec"
)

// An API server that didn't ask may have taken a provider spec that can't be read. It can be repaired, but as another
// provider's the Machine would leave its instance behind.
func TestWebhook_anUnreadableUsedProviderSpecIsRepairedOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	specs, err := providerspec.NewReader()
	g.Expect(err).NotTo(HaveOccurred())
	r := rules[*machinev1.Machine]{
		path: providerspec.Path(), specs: specs,
		spec: func(m *machinev1.Machine) machinev1.ProviderSpec { return m.Spec.ProviderSpec },
		used: func(context.Context, *machinev1.Machine) bool { return true },
	}
	of := func(text string) *machinev1.Machine {
		m := &machinev1.Machine{}
		m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(text)}
		return m
	}
	const id = `"a0000000-0000-4000-8000-000000000001"`
	ours := func(more string) *machinev1.Machine {
		return of(`{"apiVersion":"machine.bmm.bedplate.dev/v1beta1","kind":"NvidiaBMMMachineProviderSpec",` + more +
			`"siteRef":{"name":"site-1"},"tenantID":` + id + `,"vpcID":` + id + `,"credentialsSecret":{"name":"bmm"},` +
			`"userDataSecret":{"name":"data"},"instanceType":{"id":` + id + `},"operatingSystem":{"id":` + id + `}}`)
	}
	foreign := func(kind string) *machinev1.Machine {
		return of(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"` + kind + `"}`)
	}
	unreadable := ours(`"colour":"red",`)
	for _, row := range []struct {
		name          string
		before, after *machinev1.Machine
		refused       bool
	}{
		{"repaired", unreadable, ours(""), false},
		{"made another provider's", unreadable, foreign("A"), true},
		{"readable, made another provider's", ours(""), foreign("A"), true},
		{"another provider's all the time", foreign("A"), foreign("B"), false},
		{"another provider's, corrected", foreign("A"), ours(""), false},
	} {
		problems, err := r.updated(t.Context(), row.before, row.after)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(problems != nil).To(Equal(row.refused), "%s: %v", row.name, problems)
	}
}
