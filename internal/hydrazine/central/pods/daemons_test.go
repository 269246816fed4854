package pods_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/ovn-kubernetes/libovsdb/model"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/hydrazine/central"
	"github.com/bedplate/bedplate/internal/hydrazine/central/pods"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// kubelet does what one would do with the Pod of a central: its containers are processes, its volumes folders.
type kubelet struct {
	*fixture
	dir, ip string
	spec    corev1.PodSpec
	running map[string]*exec.Cmd
}

// run a central as a kubelet would, at an address of its own.
func (f *fixture) kubelet(group, ip string) *kubelet {
	f.t.Helper()
	toolstest.Programs(f.t, "ovn-northd")
	dir, err := os.MkdirTemp("", "hz")
	f.Expect(err).NotTo(HaveOccurred())
	f.t.Cleanup(func() { f.Expect(os.RemoveAll(dir)).To(Succeed()) })
	d := &appsv1.Deployment{}
	f.Expect(f.get(group, d)).To(Succeed())
	k := &kubelet{fixture: f, dir: dir, ip: ip, spec: d.Spec.Template.Spec, running: map[string]*exec.Cmd{}}
	f.Expect(os.MkdirAll(k.path("/run/ovn"), 0o700)).To(Succeed())
	k.mount(group)
	k.begin()
	return k
}

// begin runs the Pod from its first container on, as on a node that has been restarted.
func (k *kubelet) begin() {
	k.t.Helper()
	for _, c := range k.spec.InitContainers {
		k.Expect(k.run(c.Command...)).To(Succeed(), c.Name)
	}
	for _, c := range k.spec.Containers {
		k.start(c.Name)
	}
	for _, c := range k.spec.Containers {
		k.Eventually(func() error { return k.run(c.ReadinessProbe.Exec.Command...) }).Should(Succeed(), c.Name)
		k.Expect(k.run(c.LivenessProbe.Exec.Command...)).To(Succeed(), c.Name)
	}
}

// mount the Secret's volumes, with no more of it in them than the Pod has.
func (k *kubelet) mount(group string) {
	k.t.Helper()
	secret := &corev1.Secret{}
	k.Expect(k.get(group, secret)).To(Succeed())
	for _, v := range k.spec.Volumes {
		if v.Secret == nil {
			continue
		}
		k.Expect(v.Secret.SecretName).To(Equal(group))
		for _, c := range k.spec.Containers {
			for _, m := range c.VolumeMounts {
				if m.Name != v.Name {
					continue
				}
				k.Expect(os.MkdirAll(k.path(m.MountPath), 0o700)).To(Succeed())
				for _, item := range v.Secret.Items {
					file := filepath.Join(k.path(m.MountPath), item.Path)
					k.Expect(secret.Data).To(HaveKey(item.Key))
					k.Expect(os.WriteFile(file+".new", secret.Data[item.Key], 0o600)).To(Succeed())
					k.Expect(os.Rename(file+".new", file)).To(Succeed())
				}
			}
		}
	}
}

// path outside of a path in a container.
func (k *kubelet) path(in string) string {
	return strings.NewReplacer("/run/ovn", k.dir, "/etc/ovn", k.dir+"/etc", "$(POD_IP)", k.ip).Replace(in)
}

func (k *kubelet) command(in []string) *exec.Cmd {
	out := make([]string, len(in))
	for i := range in {
		out[i] = k.path(in[i])
	}
	cmd := exec.CommandContext(context.Background(), out[0], out[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "OVN_RUNDIR=/nonexistent", "OVS_RUNDIR=/nonexistent"}
	return cmd
}

func (k *kubelet) run(in ...string) error {
	said, err := k.command(in).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

// start a container, also again.
func (k *kubelet) start(name string) {
	k.t.Helper()
	for _, c := range k.spec.Containers {
		if c.Name != name {
			continue
		}
		cmd, said := k.command(c.Command), &bytes.Buffer{}
		cmd.Stderr = said
		k.Expect(cmd.Start()).To(Succeed())
		k.running[name] = cmd
		k.t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if k.t.Failed() {
				k.t.Logf("%s said: %s", name, said)
			}
		})
	}
}

func (k *kubelet) kill(name string) {
	k.t.Helper()
	k.Expect(k.running[name].Process.Kill()).To(Succeed())
	_ = k.running[name].Wait()
}

// who is a client of a central, by certificates in files.
type who struct{ certificate, key, authorities string }

func (k *kubelet) who(name string, certificate, key, authorities []byte) who {
	k.t.Helper()
	write := func(suffix string, data []byte) string {
		file := filepath.Join(k.dir, name+suffix)
		k.Expect(os.WriteFile(file, data, 0o600)).To(Succeed())
		return file
	}
	return who{write(".crt", certificate), write(".key", key), write(".ca", authorities)}
}

// dpu has a certificate as an agent gets it. It trusts the given authority.
func (k *kubelet) dpu(name string, a *central.Authority, trusts []byte) who {
	k.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	k.Expect(err).NotTo(HaveOccurred())
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	k.Expect(err).NotTo(HaveOccurred())
	certificate, err := a.Sign(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}), name, time.Hour)
	k.Expect(err).NotTo(HaveOccurred())
	der, err := x509.MarshalPKCS8PrivateKey(key)
	k.Expect(err).NotTo(HaveOccurred())
	return k.who(name, certificate, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), trusts)
}

// ctl runs ovn-sbctl or ovn-nbctl.
func (w who) ctl(program, ip string, port int, args ...string) error {
	args = append([]string{
		"--no-leader-only", "--timeout=3", fmt.Sprintf("--db=ssl:%s:%d", ip, port),
		"--private-key=" + w.key, "--certificate=" + w.certificate, "--ca-cert=" + w.authorities,
	}, args...)
	if said, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

func listens(ip string, port int) bool {
	c, err := net.DialTimeout("tcp", fmt.Sprintf("%s:%d", ip, port), time.Second)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

// central is where it is, with connections to it.
func (k *kubelet) central(group string) (central.Central, *ovn.Northbound, *ovn.Southbound) {
	k.t.Helper()
	var c central.Central
	k.Eventually(func() (err error) {
		c, err = k.runtime.Ensure(k.t.Context(), group)
		return err
	}).Should(Succeed())
	var north *ovn.Northbound
	k.Eventually(func() (err error) {
		north, err = ovn.DialNorthbound(k.t.Context(), c.Northbound, nil, ovn.WithTLS(c.TLS))
		return err
	}).Should(Succeed())
	k.t.Cleanup(north.Close)
	var south *ovn.Southbound
	k.Eventually(func() (err error) {
		south, err = ovn.DialSouthbound(k.t.Context(), c.Southbound, nil, ovn.WithTLS(c.TLS))
		return err
	}).Should(Succeed())
	k.t.Cleanup(south.Close)
	return c, north, south
}

func (k *kubelet) apply(north *ovn.Northbound, names ...string) {
	k.t.Helper()
	var rows []model.Model
	for _, name := range names {
		rows = append(rows, &nbdb.LogicalSwitch{Name: name, ExternalIDs: ovn.Mark("blue", ovn.Ref(name))})
	}
	_, err := north.Apply(k.t.Context(), "blue", rows)
	k.Expect(err).NotTo(HaveOccurred())
}

// What the Deployment says, with the certificates of the Secret, is a central that starts closed, is filled and opened by the
// manager, and accepts only the DPUs besides, at their port.
func TestPod_isACentral(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.ensure(blue)
	const ip = "127.92.0.1"
	k := f.kubelet(blue, ip)
	f.pod(blue, ip)
	c, north, south := k.central(blue)
	k.apply(north, "a")
	f.Expect(north.Sync(t.Context())).To(Succeed(), "northd works")
	f.Expect(south.IsOpen(t.Context(), c.Listen)).To(BeFalse())
	f.Expect(listens(ip, 6642)).To(BeFalse(), "closed")
	f.Expect(south.Open(t.Context(), c.Listen)).To(Succeed())
	f.Eventually(func() bool { return listens(ip, 6642) }).Should(BeTrue())
	f.Expect(south.IsOpen(t.Context(), c.Listen)).To(BeTrue())

	secret := &corev1.Secret{}
	f.Expect(f.get(blue, secret)).To(Succeed())
	administration := secret.Data["administration-ca.crt"]
	one := k.dpu("dpu1", c.Authority, c.Authority.PEM())
	f.Eventually(func() error {
		return one.ctl("ovn-sbctl", ip, 6642, "chassis-add", "dpu1", "geneve", "127.0.0.9")
	}).Should(Succeed())
	f.Expect(one.ctl("ovn-sbctl", ip, 6642, "clear", "SB_Global", ".", "connections")).To(MatchError(ContainSubstring("RBAC rules")))
	f.Expect(one.ctl("ovn-sbctl", ip, 6642, "chassis-add", "dpu2", "geneve", "127.0.0.10")).To(MatchError(ContainSubstring("RBAC rules")))

	trusting := k.dpu("dpu1-trusting", c.Authority, append(administration, c.Authority.PEM()...)) // it is not refused by itself
	f.Expect(trusting.ctl("ovn-sbctl", ip, 6642, "get-connection")).To(Succeed())
	f.Expect(trusting.ctl("ovn-nbctl", ip, 6641, "show")).NotTo(Succeed())
	f.Expect(trusting.ctl("ovn-sbctl", ip, 6643, "get-connection")).NotTo(Succeed())
	own := k.who("own", secret.Data["manager.crt"], secret.Data["manager.key"], append(administration, c.Authority.PEM()...))
	f.Expect(own.ctl("ovn-nbctl", ip, 6641, "show")).To(Succeed(), "so it is the certificate")
	f.Expect(own.ctl("ovn-sbctl", ip, 6643, "get-connection")).To(Succeed(), "so it is the certificate")
	f.Expect(own.ctl("ovn-sbctl", ip, 6642, "get-connection")).NotTo(Succeed(), "the manager is no DPU")
}

// A container that is started again finds its database. A new Pod, or one that replaces another, finds none and is closed.
func TestPod_keepsItsDatabasesAsLongAsItLives(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.ensure(blue)
	const ip, next = "127.92.0.2", "127.92.0.3"
	k := f.kubelet(blue, ip)
	p := f.pod(blue, ip)
	c, north, south := k.central(blue)
	k.apply(north, "a")
	f.Expect(north.Sync(t.Context())).To(Succeed())
	f.Expect(south.Open(t.Context(), c.Listen)).To(Succeed())
	f.Eventually(func() bool { return listens(ip, 6642) }).Should(BeTrue())
	for _, container := range []string{"nb", "sb", "sb-admin", "northd"} {
		k.kill(container)
		k.start(container)
		f.Eventually(func() error {
			short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			if err := north.Sync(short); err != nil {
				return err
			}
			if open, err := south.IsOpen(short, c.Listen); err != nil || !open {
				return errors.Join(err, fmt.Errorf("open is %t", open))
			}
			return nil
		}).Should(Succeed(), container)
		f.Eventually(func() bool { return listens(ip, 6642) }).Should(BeTrue(), container)
		f.Expect(north.Apply(t.Context(), "blue", []model.Model{
			&nbdb.LogicalSwitch{Name: "a", ExternalIDs: ovn.Mark("blue", ovn.Ref("a"))},
		})).To(BeZero(), "nothing is missing")
	}
	for name := range k.running {
		k.kill(name)
	}
	k.begin()
	f.Eventually(func() (bool, error) { return south.IsOpen(t.Context(), c.Listen) }).Should(BeFalse())
	f.Expect(listens(ip, 6642)).To(BeFalse())
	f.Expect(north.Sync(t.Context())).To(Succeed())
	f.Expect(north.Apply(t.Context(), "blue", []model.Model{
		&nbdb.LogicalSwitch{Name: "a", ExternalIDs: ovn.Mark("blue", ovn.Ref("a"))},
	})).To(Equal(1), "all is missing")

	f.Expect(f.client.Delete(t.Context(), p, client.GracePeriodSeconds(0))).To(Succeed())
	k2 := f.kubelet(blue, next)
	f.pod(blue, next)
	f.Eventually(func() (string, error) {
		c, err := f.runtime.Ensure(t.Context(), blue)
		return c.Northbound, err
	}).Should(Equal("ssl:" + next + ":6641"))
	after, _, newSouth := k2.central(blue)
	f.Expect(newSouth.IsOpen(t.Context(), after.Listen)).To(BeFalse())
	f.Expect(listens(next, 6642)).To(BeFalse())
	f.Expect(after.Authority.PEM()).To(Equal(c.Authority.PEM()), "DPUs keep their certificates")
	f.Expect(after.ForDPUs).To(Equal(c.ForDPUs))
}

// Certificates that end soon are replaced while everything runs.
func TestPod_getsNewCertificates(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.ensure(blue)
	const ip = "127.92.0.4"
	k := f.kubelet(blue, ip)
	f.pod(blue, ip)
	before, _, south := k.central(blue)
	f.Eventually(func() error { return south.Open(t.Context(), before.Listen) }).Should(Succeed())
	secret := &corev1.Secret{}
	f.Expect(f.get(blue, secret)).To(Succeed())
	old := secret.DeepCopy().Data
	f.quiet()
	for _, name := range []string{"dpus", "administration", "manager"} {
		delete(secret.Data, name+".crt")
	}
	f.Expect(f.client.Update(t.Context(), secret)).To(Succeed())
	f.hears(blue)
	var after central.Central
	f.Eventually(func(g Gomega) {
		var err error
		after, err = f.runtime.Ensure(t.Context(), blue)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.get(blue, secret)).To(Succeed())
		g.Expect(secret.Data).To(HaveLen(len(old)))
	}).Should(Succeed())
	f.Expect(after.TLS).NotTo(BeIdenticalTo(before.TLS), "clients that are connected reconnect")
	for name, data := range old {
		if strings.Contains(name, "-ca.") {
			f.Expect(secret.Data).To(HaveKeyWithValue(name, data))
		} else {
			f.Expect(secret.Data[name]).NotTo(Equal(data), name)
		}
	}
	k.mount(blue)
	_, north, _ := k.central(blue)
	f.Expect(north.Sync(t.Context())).To(Succeed())
	for port, file := range map[int]string{6641: "administration.crt", 6642: "dpus.crt", 6643: "administration.crt"} {
		f.Eventually(func() []byte { return k.shown(port) }).Should(Equal(secret.Data[file]), file)
	}
}

// shown is the certificate that a server shows.
func (k *kubelet) shown(port int) []byte {
	k.t.Helper()
	said, _ := exec.Command("openssl", "s_client", "-connect", fmt.Sprintf("%s:%d", k.ip, port), "-showcerts").Output()
	block, _ := pem.Decode(said[max(0, bytes.Index(said, []byte("-----BEGIN"))):])
	if block == nil {
		return nil
	}
	return pem.EncodeToMemory(block)
}

var _ central.Runtime = (*pods.Runtime)(nil)
