package bmm_test

import (
	"os/exec"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// What the README tells a user to do: every object is valid, and the Pods keep to Pod Security "restricted".
func TestManifests_areTakenWithoutAWarning(t *testing.T) {
	t.Parallel()
	kubectl(t, "apply", "-k", "default", "--warnings-as-errors")
}

func TestExplain_tellsAUserWhatAFieldIsFor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	spec := kubectl(t, "explain", "nvidiabmmcluster.spec")
	g.Expect(spec).To(ContainSubstring("spec says which networks the cluster gets, and where."))
	g.Expect(spec).To(MatchRegexp(`siteRef\t<Object> -required-\n +siteRef names the BMM site`))
	g.Expect(spec).NotTo(MatchRegexp(`(?m)<no description>`))
	g.Expect(kubectl(t, "explain", "nvidiabmmmachine.spec.instanceType")).NotTo(ContainSubstring("<no description>"))
}

func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	program := toolstest.Find(t, "kubectl").Path("kubectl")
	out, err := exec.Command(program, append(args, "--kubeconfig", testenv.Kubeconfig(t))...).CombinedOutput()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%s", out)
	return string(out)
}
