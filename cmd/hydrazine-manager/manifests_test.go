package main

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bedplate/bedplate/internal/testenv"
)

// What config/hydrazine says is something that this program takes, as it is and for a site with node ports.
func TestManifests_areForThisProgram(t *testing.T) {
	t.Parallel()
	var deployment appsv1.Deployment
	var settings corev1.ConfigMap
	var role rbacv1.Role
	testenv.Kustomize(t, "../../config/hydrazine/default", map[string]any{"Deployment": &deployment, "ConfigMap": &settings, "Role bedplate-hydrazine-manager": &role})
	container := deployment.Spec.Template.Spec.Containers[0]
	NewWithT(t).Expect(container.EnvFrom[0].ConfigMapRef.Name).To(Equal(settings.Name))
	NewWithT(t).Expect(deployment.Spec.Replicas).To(HaveValue(BeNumerically(">", 1)))
	for name, change := range map[string]map[string]string{
		"as they are": {}, "node ports": {"CENTRALS_SERVICE": "NodePort", "CENTRALS_ADDRESS": "172.18.0.2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c, f := command()
			g.Expect(c.ParseFlags(testenv.Expand(container.Args, settings.Data, change, map[string]string{"NAMESPACE": "here"}))).To(Succeed())
			g.Expect(f.check(30 * time.Second)).To(Succeed())
			g.Expect(f.tls.Validate()).To(Succeed())
			_, err := f.centrals.check()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(f.centrals.runtime).To(Equal(onKubernetes))
			g.Expect(f.centrals.manager).To(Equal("here"))
			g.Expect(f.centrals.namespace).To(Equal(role.Namespace))
			g.Expect(f.centrals.image).To(HaveSuffix("/hydrazine-central:latest"))
			leads, err := c.Flags().GetBool("leader-elect")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(leads).To(BeTrue())
		})
	}
}

func TestCentralFlags_areChecked(t *testing.T) {
	t.Parallel()
	for args, says := range map[*[]string]string{
		{}:                                "--centrals-address",
		{"--centrals-address=172.18.0.2"}: "",
		{"--centrals=kubernetes"}:         `--centrals-image=""`,
		{"--centrals-address=172.18.0.2", "--centrals-dir=ovn"}:                                                    "--centrals-dir",
		{"--centrals=kubernetes", "--centrals-image=a", "--centrals-service=ClusterIP"}:                            "--centrals-service=ClusterIP",
		{"--centrals=kubernetes", "--centrals-image=a", "--centrals-namespace="}:                                   `--centrals-namespace=""`,
		{"--centrals=kubernetes", "--centrals-image=a", "--manager-namespace=A"}:                                   `--manager-namespace="A"`,
		{"--centrals=kubernetes", "--centrals-image=a"}:                                                            "",
		{"--centrals=kubernetes", "--centrals-image=a", "--centrals-service=NodePort"}:                             "address",
		{"--centrals=kubernetes", "--centrals-image=a", "--centrals-service=NodePort", "--centrals-address=x"}:     "--centrals-address",
		{"--centrals=kubernetes", "--centrals-image=a", "--centrals-service=NodePort", "--centrals-address=fd::1"}: "",
		{"--centrals=kubernetes", "--centrals-image=a", "--southbound-plaintext"}:                                  "TLS only",
		{"--centrals=vms", "--centrals-address=172.18.0.2"}:                                                        "must be process or kubernetes",
	} {
		g := NewWithT(t)
		c, f := command()
		g.Expect(c.ParseFlags(*args)).To(Succeed())
		if _, err := f.centrals.check(); says == "" {
			g.Expect(err).NotTo(HaveOccurred(), "%v", *args)
		} else {
			g.Expect(err).To(MatchError(ContainSubstring(says)), "%v", *args)
		}
	}
}
