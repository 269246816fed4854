package examples_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/examples"
)

func TestRender_namesVariablesWithoutValue(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	_, err := examples.Render("bmm", map[string]string{"CLUSTER_NAME": "demo"})
	g.Expect(err).To(MatchError(And(ContainSubstring("no value for"), ContainSubstring("BMM_SITE_ID"),
		Not(ContainSubstring("CLUSTER_NAME")))))
}

func TestRender_listsWhatThereIs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	_, err := examples.Render("mainframe", nil)
	g.Expect(err).To(MatchError(ContainSubstring("there are: bmm")))
}

func TestRender_fillsInDefaults(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	variables := map[string]string{
		"CLUSTER_NAME": "demo", "NAMESPACE": "default", "KUBERNETES_VERSION": "v1.36.0", "CONTROL_PLANE_MACHINE_COUNT": "1",
		"WORKER_MACHINE_COUNT": "2", "CONTROL_PLANE_ENDPOINT_HOST": "10.20.0.10", "BMM_ENDPOINT": "https://bmm.example.com",
		"BMM_ORG": "acme", "BMM_TOKEN": "made up", "BMM_SITE_ID": "site", "BMM_TENANT_ID": "tenant", "BMM_IP_BLOCK_ID": "block",
		"BMM_INSTANCE_TYPE_ID": "type", "BMM_OPERATING_SYSTEM_ID": "system",
	}
	for _, name := range clusterAPI {
		text, err := examples.Render(name, variables)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).To(ContainSubstring("port: 6443\n"))
	}
	variables["CONTROL_PLANE_ENDPOINT_PORT"] = "443"
	text, err := examples.Render("bmm", variables)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(ContainSubstring("port: 443\n"))
}
