package testenv

import (
	"context"
	"maps"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// kubectlTimeout is longer than anything that a test asks kubectl for.
const kubectlTimeout = 2 * time.Minute

// Kubectl runs kubectl as an administrator, and returns what it prints.
func Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	out, err := RunKubectl(t, Kubeconfig(t), args...)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%s", out)
	return out
}

// RunKubectl runs kubectl with a kubeconfig, and returns what it prints, also where it fails.
func RunKubectl(t testing.TB, kubeconfig string, args ...string) (string, error) {
	t.Helper()
	program := toolstest.Find(t, "kubectl").Path("kubectl")
	ctx, cancel := context.WithTimeout(t.Context(), kubectlTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, append(args, "--kubeconfig", kubeconfig)...).CombinedOutput()
	return string(out), err
}

// Render returns what kustomize makes of a folder, one document after the other. No API server is asked.
func Render(t testing.TB, folder string) string {
	t.Helper()
	out, err := RunKubectl(t, "", "kustomize", folder)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%s", out)
	return out
}

// Kustomize renders a folder, and decodes the objects that are wanted: by their kind, or by kind and name with a space between.
// Each has to be there. It returns all of them as metadata.
func Kustomize(t testing.TB, folder string, into map[string]any) (all []metav1.PartialObjectMetadata) {
	t.Helper()
	g := NewWithT(t)
	missing := map[string]bool{}
	for key := range into {
		missing[key] = true
	}
	for document := range strings.SplitSeq(Render(t, folder), "\n---\n") {
		var object metav1.PartialObjectMetadata
		g.Expect(yaml.Unmarshal([]byte(document), &object)).To(Succeed())
		all = append(all, object)
		for _, key := range []string{object.Kind, object.Kind + " " + object.Name} {
			if target, wanted := into[key]; wanted {
				g.Expect(yaml.Unmarshal([]byte(document), target)).To(Succeed(), key)
				delete(missing, key)
			}
		}
	}
	g.Expect(missing).To(BeEmpty(), "not in "+folder)
	return all
}

// Expand replaces $(NAME) in a container's arguments as a kubelet does. Later values win.
func Expand(args []string, values ...map[string]string) []string {
	var pairs []string
	all := map[string]string{}
	for _, v := range values {
		maps.Copy(all, v)
	}
	for name, value := range all {
		pairs = append(pairs, "$("+name+")", value)
	}
	expanded := make([]string, len(args))
	for i := range args {
		expanded[i] = strings.NewReplacer(pairs...).Replace(args[i])
	}
	return expanded
}
