package hostnetwork

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
)

const (
	suffix = "-dpf" // of copies
	// hashAnnotation of a copy says what it was made of.
	hashAnnotation = "dpf.nvidia.com/copy-hash"
	managedBy      = "app.kubernetes.io/managed-by"
	manager        = "bedplate-dpf-manager"

	configName, configKey = "ovnkube-config", "ovnkube.conf"
	scriptName, scriptKey = "ovnkube-script-lib", "ovnkube-lib.sh"
	// ovsRemote is the DPU's Open vSwitch, as its host reaches it.
	ovsRemote     = "tcp:169.254.55.1:8500"
	ovsLocal      = "unix:${vswitch_dbsock}"
	managementEnv = "OVNKUBE_NODE_MGMT_PORT_NETDEV"
	nodeContainer = "ovnkube-controller"
	appLabel      = "app"
)

// sources are what the cluster's own ovn-kubernetes consists of on nodes.
type sources struct {
	daemonSet      *appsv1.DaemonSet
	config, script *corev1.ConfigMap
}

// copies of them for nodes whose network is on their DPU. An error names everything in the sources that isn't as it has to be: of another
// release the copies would do something else.
func copies(
	src sources, network *operatorv1.HostNetworkConfiguration, image operatorv1.Image,
) ([]client.Object, error) {
	config, err1 := copyConfig(src.config)
	script, err2 := copyScript(src.script)
	daemonSet, err3 := copyDaemonSet(src, network, image)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("ovn-kubernetes of this release isn't as it has to be: %w", err)
	}
	all := []client.Object{config, script, daemonSet}
	for _, object := range all {
		if err := sign(object); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func sign(object client.Object) error {
	text, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode a copy: %w", err)
	}
	sum := sha256.Sum256(text)
	object.SetAnnotations(map[string]string{hashAnnotation: hex.EncodeToString(sum[:])})
	return nil
}

func copyMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: ovnNamespace, Name: name + suffix, Labels: map[string]string{managedBy: manager}}
}

func copyConfig(source *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	out := &corev1.ConfigMap{ObjectMeta: copyMeta(configName), Data: maps.Clone(source.Data), BinaryData: source.BinaryData}
	text, err := setOption(source.Data[configKey], "gateway", "disable-pkt-mtu-check", "true")
	if err == nil {
		text, err = setOption(text, "default", "control-ovn-encap-ip-external-id", "false")
	}
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s, key %s: %w", ovnNamespace, configName, configKey, err)
	}
	out.Data[configKey] = text
	return out, nil
}

// setOption of a section, where it replaces the value that it has.
func setOption(text, section, key, value string) (string, error) {
	lines := strings.Split(text, "\n")
	header := slices.IndexFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "["+section+"]" })
	if header < 0 {
		return "", fmt.Errorf("it has no section [%s]", section)
	}
	option := key + "=" + value
	for i := header + 1; i < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[i]), "["); i++ {
		if name, _, _ := strings.Cut(lines[i], "="); strings.TrimSpace(name) == key {
			lines[i] = option
			return strings.Join(lines, "\n"), nil
		}
	}
	return strings.Join(slices.Insert(lines, header+1, option), "\n"), nil
}

func copyScript(source *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	text := source.Data[scriptKey]
	for _, anchor := range []string{ovsLocal, "${" + managementEnv + "}"} {
		if !strings.Contains(text, anchor) {
			return nil, fmt.Errorf("ConfigMap %s/%s, key %s: it doesn't mention %s", ovnNamespace, scriptName, scriptKey, anchor)
		}
	}
	out := &corev1.ConfigMap{ObjectMeta: copyMeta(scriptName), Data: maps.Clone(source.Data), BinaryData: source.BinaryData}
	out.Data[scriptKey] = strings.ReplaceAll(text, ovsLocal, ovsRemote)
	return out, nil
}

func copyDaemonSet(
	src sources, network *operatorv1.HostNetworkConfiguration, image operatorv1.Image,
) (*appsv1.DaemonSet, error) {
	out := &appsv1.DaemonSet{ObjectMeta: copyMeta(stockName), Spec: *src.daemonSet.Spec.DeepCopy()}
	pod := &out.Spec.Template.Spec
	var problems []error
	if out.Spec.Selector == nil || out.Spec.Selector.MatchLabels[appLabel] != stockName || out.Spec.Template.Labels[appLabel] != stockName {
		problems = append(problems, fmt.Errorf("its Pods don't have the label %s=%s", appLabel, stockName))
	} else {
		out.Spec.Selector.MatchLabels[appLabel] += suffix
		out.Spec.Template.Labels[appLabel] += suffix
	}
	for _, name := range []string{configName, scriptName} {
		if !renameVolume(pod.Volumes, name) {
			problems = append(problems, fmt.Errorf("no volume is of ConfigMap %s", name))
		}
	}
	container := slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == nodeContainer })
	if container < 0 {
		problems = append(problems, fmt.Errorf("it has no container %s", nodeContainer))
	} else {
		setEnv(&pod.Containers[container], managementEnv, string(network.HostPF0VF0))
		setImage(pod, pod.Containers[container].Image, string(image))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("DaemonSet %s/%s: %w", ovnNamespace, stockName, err)
	}
	pod.Affinity = letBack(pod.Affinity)
	if pod.NodeSelector == nil {
		pod.NodeSelector = map[string]string{}
	}
	// The label comes in the write that takes our taint away. To tolerate all taints but that one, all others would have to be named, and each
	// new one on one node would restart the Pods of all.
	pod.NodeSelector[operatorv1.NetworkPreconfigReadyLabel] = ""
	return out, nil
}

func renameVolume(volumes []corev1.Volume, configMap string) (found bool) {
	for i := range volumes {
		if source := volumes[i].ConfigMap; source != nil && source.Name == configMap {
			source.Name += suffix
			found = true
		}
	}
	return found
}

func setEnv(container *corev1.Container, name, value string) {
	container.Env = slices.DeleteFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == name })
	container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: value})
}

// setImage of all containers that have the same one: those of ovn-kubernetes.
func setImage(pod *corev1.PodSpec, before, image string) {
	if image == "" {
		return
	}
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			if containers[i].Image == before {
				containers[i].Image = image
			}
		}
	}
}
