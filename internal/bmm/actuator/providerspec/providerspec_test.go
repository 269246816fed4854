package providerspec_test

import (
	"testing"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bedplate/bedplate/internal/bmm/actuator/providerspec"
)

// Problems are listed in a condition: if their order varied, each reconcile would write it and record an event.
func TestRead_namesProblemsInTheSameOrder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	specs, err := providerspec.NewReader()
	g.Expect(err).NotTo(HaveOccurred())
	for _, text := range []string{
		`{"apiVersion":"a/v1","kind":"A"}`,
		`{"apiVersion":"machine.bmm.bedplate.dev/v1beta1","kind":"NvidiaBMMMachineProviderSpec","vpcID":"net","tenantID":"acme","colour":1}`,
	} {
		read := func() string {
			spec := machinev1.ProviderSpec{Value: &runtime.RawExtension{Raw: []byte(text)}}
			_, problems := specs.Read(t.Context(), providerspec.Path(), spec)
			g.Expect(len(problems)).To(BeNumerically(">", 1))
			return problems.ToAggregate().Error()
		}
		first := read()
		for range 50 {
			g.Expect(read()).To(Equal(first))
		}
	}
}
