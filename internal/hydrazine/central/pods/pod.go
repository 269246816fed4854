package pods

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// Folders in the containers.
const (
	runDir     = "/run/ovn"
	keysDir    = "/etc/ovn"
	schemasDir = "/usr/share/ovn"
)

// user of the daemons: an unprivileged one.
const user = 65532

// create makes empty databases whenever the Pod begins, also on a node that was restarted: their data may be old. An empty
// southbound database is closed to the DPUs.
const create = `set -e
rm -f ` + runDir + `/*.db
for kind in nb sb; do
  ovsdb-tool create ` + runDir + `/$kind.db ` + schemasDir + `/ovn-$kind.ovsschema
done`

// pod of a central. Its containers share a folder in memory, so a container that is started again finds its database, and a
// Pod that takes another one's place finds none.
func (r *Runtime) pod(group string) corev1.PodSpec {
	return corev1.PodSpec{
		PriorityClassName:             "system-cluster-critical", // DPUs without a central get no changes
		AutomountServiceAccountToken:  ptr.To(false),
		EnableServiceLinks:            ptr.To(false),
		TerminationGracePeriodSeconds: ptr.To[int64](5),
		// It has no state to lose, so it needn't wait for five minutes until a node comes back.
		Tolerations: []corev1.Toleration{lost(corev1.TaintNodeNotReady), lost(corev1.TaintNodeUnreachable)},
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](user), RunAsGroup: ptr.To[int64](user),
			FSGroup: ptr.To[int64](user), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		InitContainers: []corev1.Container{r.container("create", []string{"sh", "-c", create}, "64Mi")},
		Containers: []corev1.Container{
			r.daemon("nb", "512Mi", administration, "ovsdb-server", remote(northboundPort), "--remote=punix:"+runDir+"/nb.sock",
				runDir+"/nb.db"),
			// It listens for DPUs as soon as a row in its own table of connections says so.
			r.daemon("sb", "1Gi", forDPUs, "ovsdb-server", "--remote=db:OVN_Southbound,SB_Global,connections",
				"--remote=punix:"+runDir+"/sb.sock", runDir+"/sb.db"),
			// A server trusts one authority. This one is in front of the southbound database for clients of the other.
			r.daemon("sb-admin", "1Gi", administration, "ovsdb-server", remote(administrationPort),
				"relay:OVN_Southbound:unix:"+runDir+"/sb.sock"),
			r.daemon("northd", "1Gi", "", "ovn-northd", "--ovnnb-db=unix:"+runDir+"/nb.sock", "--ovnsb-db=unix:"+runDir+"/sb.sock"),
		},
		Volumes: []corev1.Volume{
			{Name: "run", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
				Medium: corev1.StorageMediumMemory, SizeLimit: ptr.To(resource.MustParse("512Mi")),
			}}},
			certificates(group, forDPUs), certificates(group, administration),
		},
	}
}

func lost(taint string) corev1.Toleration {
	return corev1.Toleration{
		Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](30),
	}
}

func remote(port int) string { return fmt.Sprintf("--remote=pssl:%d:[$(POD_IP)]", port) }

// certificates are those of one side, without the key of its authority.
func certificates(group, side string) corev1.Volume {
	return corev1.Volume{Name: side, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: group, DefaultMode: ptr.To[int32](0o440),
		Items: []corev1.KeyToPath{
			{Key: side + ".crt", Path: "tls.crt"}, {Key: side + ".key", Path: "tls.key"},
			{Key: side + authoritySuffix + ".crt", Path: "ca.crt"},
		},
	}}}
}

// daemon of OVN in the foreground, with the certificates of a side.
func (r *Runtime) daemon(name, memory, side string, command ...string) corev1.Container {
	control := runDir + "/" + name + ".ctl"
	command = append(command, "--unixctl="+control, "-vconsole:info", "-vsyslog:off", "-vfile:off")
	dir := keysDir + "/" + side
	if side != "" {
		command = append(command, "--private-key="+dir+"/tls.key", "--certificate="+dir+"/tls.crt", "--ca-cert="+dir+"/ca.crt",
			"--ssl-protocols=TLSv1.2")
	}
	c := r.container(name, command, memory)
	c.Env = []corev1.EnvVar{{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"},
	}}}
	if side != "" {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: side, MountPath: dir, ReadOnly: true})
	}
	answers := corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"ovs-appctl", "--timeout=5", "-t", control, "version"}}}
	c.ReadinessProbe = &corev1.Probe{ProbeHandler: answers, PeriodSeconds: 5, TimeoutSeconds: 6, FailureThreshold: 3}
	// A busy one answers late.
	c.LivenessProbe = &corev1.Probe{ProbeHandler: answers, PeriodSeconds: 20, TimeoutSeconds: 6, FailureThreshold: 6}
	return c
}

func (r *Runtime) container(name string, command []string, memory string) corev1.Container {
	return corev1.Container{
		Name: name, Image: r.config.Image, Command: command,
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi"),
			},
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)},
		},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: "run", MountPath: runDir}},
	}
}
