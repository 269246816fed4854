package userdata_test

import (
	"testing"

	"github.com/blang/semver/v4"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	capi "sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/cloudinit"
	"sigs.k8s.io/cluster-api/util/secret"

	"github.com/bedplate/bedplate/internal/bmm/userdata"
	"github.com/bedplate/bedplate/internal/localstack/boot/cloudinit"
)

// The user data of machines that Cluster API makes with kubeadm is written again by the service, and means the same.
func TestSendable_isKubeadmsDataAsClusterAPIWritesIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	certificates := secret.NewCertificatesForInitialControlPlane(&bootstrapv1.ClusterConfiguration{})
	g.Expect(certificates.Generate()).To(Succeed())
	data, err := capi.NewInitControlPlane(&capi.ControlPlaneInput{
		BaseUserData: capi.BaseUserData{
			KubernetesVersion:   semver.MustParse("1.36.0"),
			PreKubeadmCommands:  []string{"systemctl enable --now kubelet", `echo "it's {{ ds.meta_data.hostname }}" >> /etc/motd`},
			PostKubeadmCommands: []string{"echo \"a\nb\""},
			AdditionalFiles: []bootstrapv1.File{
				{Path: "/etc/a", Permissions: "0600", Content: "first\n\tlast  \n\n"},
				{Path: "/etc/b", Encoding: bootstrapv1.Base64, Content: "YQ=="},
			},
			NTP: &bootstrapv1.NTP{Enabled: ptr.To(true), Servers: []string{"ntp.example.com"}},
		},
		Certificates: certificates,
		InitConfiguration: "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nnodeRegistration:\n  name: '{{ ds.meta_data.hostname }}'\n" +
			"  kubeletExtraArgs:\n  - {name: provider-id, value: 'nvidia-bmm://site/{{ ds.meta_data.instance_id }}'}\n",
		ClusterConfiguration: "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nclusterName: demo\n",
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(arrived(string(data))).NotTo(Equal(string(data)), "otherwise this proves nothing")

	sent, err := userdata.Sendable(string(data), false)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sent).To(Equal(string(data)))
	metadata := map[string]string{"hostname": "node-1", "instance-id": "i-1"}
	asked, err := cloudinit.Parse(data, metadata)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cloudinit.Parse([]byte(arrived(sent)), metadata)).To(Equal(asked))
}
