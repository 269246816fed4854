package main

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// Without a worker no Node is ever initialised, and without a pause the API server gets no rest.
func TestFlags_thatInitialiseNoNodeOrNeverRestAreRefusedAtStart(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "cloud.yaml")
	NewWithT(t).Expect(os.WriteFile(config, []byte("site: {name: site-1}\ncredentials: /credentials\n"), 0o600)).To(Succeed())
	for arg, says := range map[string]string{
		"--concurrent-node-syncs=1":         "",
		"--concurrent-node-syncs=0":         "--concurrent-node-syncs=0: must be at least 1",
		"--node-status-update-frequency=0s": "--node-status-update-frequency=0s: must be at least 100ms",
		"--node-monitor-period=-1s":         "--node-monitor-period=-1s: must be at least 100ms",
		"--kube-api-qps=0":                  "--kube-api-qps=0: must be more than 0",
		"--kube-api-burst=0":                "--kube-api-burst=0: must be at least 1",
	} {
		g := NewWithT(t)
		command, err := newCommand(make(chan struct{}))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(command.ParseFlags([]string{"--cloud-config=" + config, arg})).To(Succeed())
		if err := command.PreRunE(command, nil); says == "" {
			g.Expect(err).NotTo(HaveOccurred())
		} else {
			g.Expect(err).To(MatchError(HavePrefix(says)))
		}
	}
}
