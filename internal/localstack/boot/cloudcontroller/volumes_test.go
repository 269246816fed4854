package cloudcontroller

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

func TestProject_changesAllFilesAtOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "credentials")
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		g.Expect(err).NotTo(HaveOccurred())
		return string(data)
	}
	g.Expect(project(dir, map[string][]byte{"endpoint": []byte("here"), "token": []byte("old")})).To(Succeed())
	g.Expect(read("token")).To(Equal("old"))
	first, err := os.Readlink(filepath.Join(dir, "..data"))
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(project(dir, map[string][]byte{"endpoint": []byte("here"), "token": []byte("old")})).To(Succeed())
	g.Expect(os.Readlink(filepath.Join(dir, "..data"))).To(Equal(first), "nothing has changed")

	g.Expect(project(dir, map[string][]byte{"token": []byte("new"), "orgName": []byte("acme")})).To(Succeed())
	g.Expect(read("token")).To(Equal("new"))
	g.Expect(read("orgName")).To(Equal("acme"))
	g.Expect(os.Readlink(filepath.Join(dir, "token"))).To(Equal("..data/token"))
	g.Expect(filepath.Join(dir, "endpoint")).NotTo(BeAnExistingFile())
	g.Expect(filepath.Join(dir, first)).NotTo(BeADirectory())
}

func TestReplacer_makesTheInnermostMountReal(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	volume := func(name string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}}
	}
	pod := &corev1.PodSpec{
		Volumes: []corev1.Volume{volume("config"), volume("credentials"), {Name: "tmp"}},
		Containers: []corev1.Container{{VolumeMounts: []corev1.VolumeMount{
			{Name: "config", MountPath: "/etc/bmm"}, {Name: "credentials", MountPath: "/etc/bmm/credentials"},
			{Name: "tmp", MountPath: "/tmp"},
		}}},
	}
	inPlace := replacer(mountsOf(pod, "/disk"))
	g.Expect(inPlace.Replace("--cloud-config=/etc/bmm/cloud.yaml")).To(Equal("--cloud-config=/disk/config/cloud.yaml"))
	g.Expect(inPlace.Replace("credentials: /etc/bmm/credentials")).To(Equal("credentials: /disk/credentials"))
	g.Expect(inPlace.Replace("/tmp/x")).To(Equal("/tmp/x"))
}
