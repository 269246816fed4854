package boot_test

import (
	"bytes"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/cluster-api/util/certs"
	"sigs.k8s.io/cluster-api/util/secret"

	"github.com/bedplate/bedplate/internal/localstack/boot"
)

var brokenUserData = []struct {
	name   string
	change func(t *testing.T, l *lab) []byte
	want   []string
}{
	{"one changed byte in the cluster's CA", func(_ *testing.T, l *lab) []byte {
		damage(l.certs.GetByPurpose(secret.ClusterCA).KeyPair.Cert)
		return l.initData()
	}, []string{"read CA ca:"}},
	{"one changed byte in etcd's CA", func(_ *testing.T, l *lab) []byte {
		damage(l.certs.GetByPurpose(secret.EtcdCA).KeyPair.Cert)
		return l.initData()
	}, []string{"read CA etcd/ca:"}},
	{"the key of another CA", func(_ *testing.T, l *lab) []byte {
		l.certs.GetByPurpose(secret.ClusterCA).KeyPair.Key = l.certs.GetByPurpose(secret.FrontProxyCA).KeyPair.Key
		return l.initData()
	}, []string{"read CA ca:", "private key does not match"}},
	{"half of another service account key", func(t *testing.T, l *lab) []byte {
		other := &secret.Certificate{Purpose: secret.ServiceAccount}
		NewWithT(t).Expect(other.Generate()).To(Succeed())
		l.certs.GetByPurpose(secret.ServiceAccount).KeyPair.Cert = other.KeyPair.Cert
		return l.initData()
	}, []string{"sa.pub and sa.key don't belong together"}},
	{"no CA at all", func(_ *testing.T, l *lab) []byte {
		l.certs.GetByPurpose(secret.ClusterCA).KeyPair = &certs.KeyPair{}
		return l.initData()
	}, []string{"read CA ca:"}},
	{"no kubeadm configuration", func(t *testing.T, l *lab) []byte {
		return replaceOnce(t, l.initData(), "path: /run/kubeadm/kubeadm.yaml", "path: /run/kubeadm/other.yaml")
	}, []string{"kubeadm init: read the --config file"}},
	{"damaged YAML", func(t *testing.T, l *lab) []byte {
		return replaceOnce(t, l.initData(), "\nruncmd:", "\n  runcmd: [")
	}, []string{"parse cloud-config"}},
	{"lines swapped, so that cloud-init renders nothing", func(t *testing.T, l *lab) []byte {
		return replaceOnce(t, l.initData(), "## template: jinja\n#cloud-config\n", "#cloud-config\n## template: jinja\n")
	}, []string{"node name", "ds.meta_data.hostname"}},
	{"no call of kubeadm", func(t *testing.T, l *lab) []byte {
		return replaceOnce(t, l.initData(), "kubeadm init", "echo init")
	}, []string{"neither kubeadm init nor kubeadm join"}},
	{"an address of another machine", func(t *testing.T, l *lab) []byte {
		return replaceOnce(t, l.initData(), "localAPIEndpoint: {}", "localAPIEndpoint: {advertiseAddress: 127.1.2.3}")
	}, []string{"has no address 127.1.2.3"}},
}

func TestPowerOn_stopsTheBootOfBrokenUserData(t *testing.T) {
	t.Parallel()
	for _, row := range brokenUserData {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			l := newLab(t)
			m := l.machine(1, row.change(t, l))
			g.Expect(l.rack.PowerOn(m)).To(Succeed())
			g.Eventually(func() string { return l.console(m) }).WithTimeout(patience).
				Should(ContainSubstring("boot stopped"))
			for _, want := range row.want {
				g.Expect(l.console(m)).To(ContainSubstring(want))
			}
			g.Expect(l.console(m)).NotTo(ContainSubstring("PRIVATE KEY"))
			_, err := net.Dial("tcp", netip.AddrPortFrom(m.Address, 6443).String())
			g.Expect(err).To(HaveOccurred(), "no API server runs")
		})
	}
}

// damage changes one byte in the middle of a PEM file, to another that is still base64.
func damage(file []byte) {
	at := len(file) / 2
	for file[at] == '\n' {
		at++
	}
	if file[at] == 'A' {
		file[at] = 'B'
	} else {
		file[at] = 'A'
	}
}

func TestPowerOn_refusesWhatCanNotBeAMachine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := newLab(t)

	for _, id := range []string{"", ".", "..", "a/b", "../a"} {
		m := l.machine(1, nil)
		m.ID = id
		g.Expect(l.rack.PowerOn(m)).To(MatchError(ContainSubstring("can't be the ID")), id)
	}
	m := l.machine(1, nil)
	m.Address = netip.MustParseAddr("192.0.2.1")
	g.Expect(l.rack.PowerOn(m)).To(MatchError(ContainSubstring("loopback")))

	m = l.machine(1, nil)
	g.Expect(l.rack.PowerOn(m)).To(Succeed())
	g.Expect(l.rack.PowerOn(m)).To(MatchError(ContainSubstring("on already")))
	l.rack.PowerOff(m.ID)
	l.rack.PowerOff(m.ID)
	g.Expect(l.rack.PowerOn(m)).To(Succeed(), "after power off it can be switched on again")
}

func TestPowerOff_interruptsABoot(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := newLab(t)

	m := l.machine(1, l.joinData(l.pins())) // there is no control plane: the machine would ask for minutes
	g.Expect(l.rack.PowerOn(m)).To(Succeed())
	g.Eventually(func() string { return l.console(m) }).WithTimeout(patience).Should(ContainSubstring("looking for the cluster"))
	began := time.Now()
	l.rack.PowerOff(m.ID)
	g.Expect(time.Since(began)).To(BeNumerically("<", 5*time.Second))
}

func TestPowerOn_leavesIgnitionAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := newLab(t)

	m := l.machine(1, []byte(`{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"https://api-int.example.com:22623/"}]}}}`))
	g.Expect(l.rack.PowerOn(m)).To(Succeed())
	g.Eventually(func() string { return l.console(m) }).WithTimeout(patience).Should(And(ContainSubstring("Ignition"), ContainSubstring("boot finished")))
}

func TestPowerOn_keepsSecretsOutOfTheConsole(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := newLab(t)

	m := boot.Machine{ID: "m", Address: l.block.Address(0, 9),
		UserData: []byte("#cloud-config\nruncmd:\n- curl -H 'Authorization: hunter2' https://example.com\n")}
	g.Expect(l.rack.PowerOn(m)).To(Succeed())
	g.Eventually(func() string { return l.console(m) }).WithTimeout(patience).Should(ContainSubstring("boot stopped"))
	g.Expect(strings.Contains(l.console(m), "hunter2")).To(BeFalse())
	g.Expect(bytes.Contains(m.UserData, []byte("hunter2"))).To(BeTrue())
}
