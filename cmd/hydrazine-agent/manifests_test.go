package main

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/bedplate/bedplate/internal/hydrazine/agent"
	"github.com/bedplate/bedplate/internal/testenv"
)

// What the DaemonSet says is something that this program takes, also for a DPU with two uplinks.
func TestDaemonSet_isForThisProgram(t *testing.T) {
	t.Parallel()
	var set appsv1.DaemonSet
	var settings corev1.ConfigMap
	testenv.Kustomize(t, "../../config/hydrazine-agent/daemonset", map[string]any{"DaemonSet": &set, "ConfigMap": &settings})
	for _, container := range set.Spec.Template.Spec.Containers {
		g := NewWithT(t)
		g.Expect(container.EnvFrom[0].ConfigMapRef.Name).To(Equal(settings.Name))
		var options agent.Options
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		options.AddFlags(flags)
		args := testenv.Expand(container.Args, settings.Data, map[string]string{"UPLINKS": "p0,p1", "LACP": "true"})
		g.Expect(flags.Parse(args)).To(Succeed(), container.Name)
		g.Expect(options.Validate()).To(Succeed())
		g.Expect(options.TLS.Validate()).To(Succeed())
		g.Expect(options.Uplinks).To(HaveExactElements("p0", "p1"))
		// What outlives the Pod, and what is the DPU's own, is where the program looks for it.
		folders := map[string]string{}
		for _, mount := range container.VolumeMounts {
			for _, volume := range set.Spec.Template.Spec.Volumes {
				if volume.Name == mount.Name {
					folders[mount.MountPath] = volume.HostPath.Path
				}
			}
		}
		for _, folder := range []string{options.StateDir, options.OVSRunDir, options.OVNRunDir, options.OVNLogDir} {
			g.Expect(folders).To(HaveKeyWithValue(folder, folder))
		}
	}
}

// The relay receives from hosts by a raw socket, and calls the server from DHCP's port.
func TestUnit_allowsTheRelay(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	unit, err := os.ReadFile("../../config/hydrazine-agent/hydrazine-agent.service")
	g.Expect(err).NotTo(HaveOccurred())
	for setting, values := range map[string][]any{
		"CapabilityBoundingSet":   {"CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_NET_BIND_SERVICE"},
		"RestrictAddressFamilies": {"AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET"},
	} {
		var allowed []string
		for line := range strings.Lines(string(unit)) {
			if value, ok := strings.CutPrefix(line, setting+"="); ok {
				allowed = append(allowed, strings.Fields(value)...)
			}
		}
		g.Expect(allowed).To(ConsistOf(values...), setting)
	}
}
