package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bedplate/bedplate/internal/testenv"
)

const aCluster = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: NvidiaBMMCluster
metadata: {name: demo}
`

// bare is the kubeconfig of a Kubernetes cluster without any of our CRDs, nor Cluster API's.
func bare(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(path, testenv.Another(t).Kubeconfig, 0o600)).To(Succeed())
	return path
}

func TestCommands_sayToInstallTheProviderFirst(t *testing.T) {
	t.Parallel()
	kubeconfig := bare(t)
	for _, command := range []string{
		"topology blue", "plan -f -", "orphans", "describe cluster demo", "describe resourcegroup blue", "describe managedresource host1",
		"describe publicip one",
	} {
		g := NewWithT(t)
		_, err := run(t, strings.NewReader(aCluster), append(strings.Fields(command), "--kubeconfig", kubeconfig)...)
		g.Expect(err).To(MatchError(ContainSubstring("install the provider first")), command)
	}
}

func TestCommands_takeAContextOfTheKubeconfig(t *testing.T) {
	t.Parallel()
	e := start(t)
	config, err := clientcmd.LoadFromFile(e.kubeconfig)
	e.Expect(err).NotTo(HaveOccurred())
	config.Contexts["wanted"] = config.Contexts["test"].DeepCopy()
	config.Contexts["test"].Cluster = "nowhere"
	e.Expect(clientcmd.WriteToFile(*config, e.kubeconfig)).To(Succeed())
	for _, command := range []string{"plan -f -", "orphans --secret " + credentials(e)} {
		_, err := e.run(e.file(oneSubnet), strings.Fields(command)...)
		e.Expect(err).To(HaveOccurred(), "the current context leads nowhere")
		_, err = e.run(e.file(oneSubnet), append(strings.Fields(command), "--context", "wanted")...)
		e.Expect(err).NotTo(HaveOccurred(), command)
	}
	for _, command := range []string{"describe cluster demo", "topology blue"} {
		_, err := e.run("", append(strings.Fields(command), "--context", "wanted")...)
		e.Expect(err).To(MatchError(ContainSubstring("not found")), command)
	}
	_, err = e.run("", "orphans", "--context", "unknown")
	e.Expect(err).To(MatchError(ContainSubstring(`context "unknown" does not exist`)))
}
