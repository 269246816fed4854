package main

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bedplate/bedplate/internal/powervs/client"
)

func read(args ...string) (settings, error) {
	command, f := newCommand()
	if err := command.ParseFlags(args); err != nil {
		return settings{}, err
	}
	return f.read()
}

func TestFlags_areRead(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	none, err := read()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(none).To(Equal(settings{endpoints: client.ServiceEndpoints{}}))
	all, err := read(
		"--service-endpoint=us-south:vpc=https://vpc.example.com/v1,cos=https://cos.example.com;dal:powervs=https://power.example.com",
		"--default-credentials=system/ibm", "--feature-gates=BootstrapFormatIgnition=true")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all.endpoints).To(And(HaveLen(2), HaveKeyWithValue("dal", HaveKeyWithValue(client.ServicePowerVS, "https://power.example.com"))))
	g.Expect(all.credentials).To(Equal(types.NamespacedName{Namespace: "system", Name: "ibm"}))
	g.Expect(all.features.BootstrapFormatIgnition).To(BeTrue())
}

// A manager that misunderstands its flags doesn't start.
func TestFlags_thatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for flag, says := range map[string]string{
		"--service-endpoint=us-south:vpc=x;vpc=x":       `--service-endpoint: service endpoint "vpc=x"`,
		"--default-credentials=ibm":                     `--default-credentials "ibm": not of the form NAMESPACE/NAME`,
		"--default-credentials=a/b/c":                   `--default-credentials "a/b/c"`,
		"--feature-gates=Ignition=true":                 `--feature-gates: there is no "Ignition", only BootstrapFormatIgnition`,
		"--feature-gates=BootstrapFormatIgnition=maybe": "invalid value of BootstrapFormatIgnition",
	} {
		_, err := read(flag)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(says)), flag)
	}
}
