package cloudcontroller

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bedplate/bedplate/internal/localstack/tools"
)

// program says how it was started, and continues until it is killed.
const program = "#!/bin/sh\necho \"$$ $TZ $*\" >> \"$STARTS\"\nexec sleep 300\n"

func object(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "kube-system", Name: name}
}

func daemonSet(generation int64, args ...string) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{ObjectMeta: object(Tool)}
	d.UID, d.Generation = "1", generation
	d.Spec.Template.Spec = corev1.PodSpec{
		ServiceAccountName: "account",
		Containers: []corev1.Container{{
			Args: args, Env: []corev1.EnvVar{{Name: "TZ", Value: "UTC"}},
			VolumeMounts: []corev1.VolumeMount{{Name: "login", MountPath: "/etc/login"}, {Name: "config", MountPath: "/etc/config"}},
		}},
		Volumes: []corev1.Volume{
			{Name: "login", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "login"}}},
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "config"}}}},
		},
	}
	return d
}

func TestRun_followsTheClustersDaemonSet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(30 * time.Second)
	dir := t.TempDir()
	starts, login := filepath.Join(dir, "starts"), filepath.Join(dir, "volumes", "login", "token")
	script := strings.ReplaceAll(program, "$STARTS", starts)
	g.Expect(os.WriteFile(filepath.Join(dir, Tool), []byte(script), 0o700)).To(Succeed())
	lines := func() []string {
		data, _ := os.ReadFile(starts) // not there before the first start
		return strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' })
	}
	client := fake.NewClientset(
		&corev1.ServiceAccount{ObjectMeta: object("account")},
		&corev1.Secret{ObjectMeta: object("login"), Data: map[string][]byte{"token": []byte("old /etc/login")}},
	)
	accounts := make(chan string, 2)
	go Run(t.Context(), Config{
		Client: client, Address: netip.MustParseAddr("127.9.0.1"), Volumes: filepath.Join(dir, "volumes"), State: dir,
		Tools: tools.Dir(dir), Console: slog.New(slog.DiscardHandler),
		WriteKubeconfig: func(_, namespace, name string) error { accounts <- namespace + "/" + name; return nil },
	})
	apps, core := client.AppsV1().DaemonSets("kube-system"), client.CoreV1()
	_, err := apps.Create(t.Context(), daemonSet(1, "--config=/etc/config/cloud.yaml"), metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Consistently(lines, 2*syncInterval).Should(BeEmpty(), "a pod doesn't start without its ConfigMap")

	_, err = core.ConfigMaps("kube-system").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: object("config"), Data: map[string]string{"cloud.yaml": "login: /etc/login"}}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(lines).Should(ConsistOf(And(ContainSubstring(" UTC --config="+dir+"/volumes/config/cloud.yaml"),
		ContainSubstring("--kubeconfig="+dir+"/"), ContainSubstring("--bind-address=127.9.0.1"))))
	g.Expect(accounts).To(Receive(Equal("kube-system/account")))
	g.Expect(os.ReadFile(filepath.Join(dir, "volumes", "config", "cloud.yaml"))).To(BeEquivalentTo("login: " + filepath.Dir(login)))
	g.Expect(os.ReadFile(login)).To(BeEquivalentTo("old /etc/login"), "byte for byte")

	_, err = core.Secrets("kube-system").Update(t.Context(), &corev1.Secret{
		ObjectMeta: object("login"), Data: map[string][]byte{"token": []byte("new")}}, metav1.UpdateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() ([]byte, error) { return os.ReadFile(login) }).Should(BeEquivalentTo("new"))
	g.Expect(lines()).To(HaveLen(1), "without a restart")

	_, err = apps.Update(t.Context(), daemonSet(2, "--v=2"), metav1.UpdateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(lines).Should(HaveExactElements(ContainSubstring("cloud.yaml"), ContainSubstring("--v=2")))
	g.Expect(alive(lines()[0])).To(BeFalse())
	g.Expect(alive(lines()[1])).To(BeTrue())

	g.Expect(apps.Delete(t.Context(), Tool, metav1.DeleteOptions{})).To(Succeed())
	g.Eventually(func() bool { return alive(lines()[1]) }).Should(BeFalse())
}

// alive reports whether the process of a line runs.
func alive(line string) bool {
	_, err := os.Stat(filepath.Join("/proc", strings.Fields(line)[0]))
	return err == nil
}
