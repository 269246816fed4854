package bmmcloudcontrollermanager_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	cloudproviderapi "k8s.io/cloud-provider/api"

	manifests "github.com/bedplate/bedplate/config/bmm-cloud-controller-manager"
	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/cloudprovider"
	"github.com/bedplate/bedplate/internal/bmm/publication"
	"github.com/bedplate/bedplate/internal/localstack/manifest"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestManifests_areTakenWithoutAWarning(t *testing.T) {
	t.Parallel()
	testenv.Kubectl(t, "apply", "-k", "default", "--warnings-as-errors")
	testenv.Kubectl(t, "apply", "-k", "example", "--warnings-as-errors")
}

// As a workload cluster gets it from a management cluster: no login, no Secret, and only the ConfigMaps of its instances.
func TestManifests_giveTheProgramOfAWorkloadClusterNoLogin(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var daemonSet appsv1.DaemonSet
	var configMap corev1.ConfigMap
	all := testenv.Kustomize(t, "default", map[string]any{"DaemonSet": &daemonSet, "ConfigMap": &configMap})
	g.Expect(all).NotTo(ContainElement(HaveField("Kind", "Secret")))
	for _, volume := range daemonSet.Spec.Template.Spec.Volumes {
		g.Expect(volume.Secret).To(BeNil())
	}
	file := filepath.Join(t.TempDir(), "cloud.yaml")
	g.Expect(os.WriteFile(file, []byte(configMap.Data["cloud.yaml"]), 0o600)).To(Succeed())
	config, err := cloudprovider.ReadConfig(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Published).To(BeTrue())

	objects, err := manifest.DecodeAll(manifests.RBAC)
	g.Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		rules, _, err := unstructured.NestedSlice(object.Object, "rules")
		g.Expect(err).NotTo(HaveOccurred())
		text := fmt.Sprint(rules)
		g.Expect(text).NotTo(ContainSubstring("secrets"))
		g.Expect(text).NotTo(ContainSubstring("*"))
		if strings.Contains(text, "configmaps") {
			g.Expect(object.GetKind()).To(Equal("Role"))
			g.Expect(object.GetNamespace()).To(Equal(publication.Namespace))
			g.Expect(text).To(ContainSubstring("[get list watch]"))
		}
	}
}

// From the flags to the files, and from the site's configuration to the login, where there is one.
func TestManifests_giveTheProgramItsFiles(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var daemonSet appsv1.DaemonSet
	var configMap corev1.ConfigMap
	var secret corev1.Secret
	var account corev1.ServiceAccount
	byKind := map[string]any{"DaemonSet": &daemonSet, "ConfigMap": &configMap, "Secret": &secret, "ServiceAccount": &account}
	testenv.Kustomize(t, "example", byKind)
	pod := daemonSet.Spec.Template.Spec
	g.Expect(pod.ServiceAccountName).To(Equal(account.Name))
	for _, namespace := range []string{account.Namespace, configMap.Namespace, secret.Namespace} {
		g.Expect(namespace).To(Equal(daemonSet.Namespace))
	}
	mounted := map[string]string{} // where each volume is
	for _, m := range pod.Containers[0].VolumeMounts {
		g.Expect(m.ReadOnly).To(BeTrue())
		mounted[m.Name] = m.MountPath
	}
	var files, credentials string
	for _, volume := range pod.Volumes {
		switch {
		case volume.ConfigMap != nil:
			g.Expect(volume.ConfigMap.Name).To(Equal(configMap.Name))
			files = mounted[volume.Name]
		case volume.Secret != nil:
			g.Expect(volume.Secret.SecretName).To(Equal(secret.Name))
			credentials = mounted[volume.Name]
		}
	}
	g.Expect(configMap.Data).To(HaveLen(1))
	for name, content := range configMap.Data {
		g.Expect(pod.Containers[0].Args).To(ContainElement("--cloud-config=" + files + "/" + name))
		file := filepath.Join(t.TempDir(), name)
		g.Expect(os.WriteFile(file, []byte(content), 0o600)).To(Succeed())
		config, err := cloudprovider.ReadConfig(file)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(config.Credentials).To(Equal(credentials))
	}
	secret.Data = map[string][]byte{}
	for key, value := range secret.StringData {
		secret.Data[key] = []byte(value)
	}
	_, err := client.FromSecret(&secret)
	g.Expect(err).NotTo(HaveOccurred())
}

// It has to run before there is anything else: nodes that aren't initialised, and no network plugin.
func TestManifests_letTheProgramRunFirstAndWithLittle(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	daemonSet, err := manifests.DaemonSet()
	g.Expect(err).NotTo(HaveOccurred())
	pod := daemonSet.Spec.Template.Spec
	g.Expect(pod.HostNetwork).To(BeTrue())
	for _, key := range []string{
		cloudproviderapi.TaintExternalCloudProvider, "node-role.kubernetes.io/control-plane", corev1.TaintNodeNotReady,
	} {
		taint := &corev1.Taint{Key: key, Value: "true", Effect: corev1.TaintEffectNoSchedule}
		tolerated := false
		for _, toleration := range pod.Tolerations {
			tolerated = tolerated || toleration.Key == taint.Key && toleration.Effect == taint.Effect && toleration.Value == "" &&
				toleration.Operator == corev1.TolerationOpExists
		}
		g.Expect(tolerated).To(BeTrue(), key)
	}
	g.Expect(*pod.SecurityContext.RunAsNonRoot).To(BeTrue())
	container := pod.Containers[0].SecurityContext
	g.Expect(*container.ReadOnlyRootFilesystem).To(BeTrue())
	g.Expect(*container.AllowPrivilegeEscalation).To(BeFalse())
	g.Expect(container.Capabilities.Drop).To(ConsistOf(corev1.Capability("ALL")))
}
