package manager

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/bedplate/bedplate/internal/testenv"
)

// cert-manager's injector writes the CA of a new certificate into the webhooks' configuration at once; the kubelet brings the
// certificate itself into the Pod up to a minute later. In between the one from before has to do.
func TestWebhooks_refuseNoWriteWhileTheirCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		folder  string
		change  func(*issuance)
		refuses bool
	}{
		"bmm":       {folder: "bmm"},
		"hydrazine": {folder: "hydrazine"},
		"but do if it signs itself": {folder: "bmm", refuses: true, change: func(i *issuance) {
			i.issuers[i.certificates[i.leaf].Spec.IssuerRef.Name] = issuer{}
		}},
		"but do if its authority gets another key": {folder: "bmm", refuses: true, change: func(i *issuance) {
			i.certificates[i.authority()].Spec.PrivateKey.RotationPolicy = "Always"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issued := newIssuance(t, filepath.Join("..", "..", "config", c.folder, "default"))
			if c.change != nil {
				c.change(issued)
			}
			r := startRenewal(t, issued)
			r.renew()
			issued.issueAuthority() // after years; the certificate stays until its own time has come
			r.renew()
			refused := r.stop()
			if c.refuses {
				r.Expect(refused).NotTo(BeEmpty())
				r.Expect(refused[0]).To(MatchError(ContainSubstring("certificate signed by unknown authority")))
			} else {
				r.Expect(len(refused)).To(BeZero(), "%v", refused)
			}
		})
	}
}

// The kubelet and the rest of the cluster hear at the same time that a Pod is to go. The Pod's hook sleeps, since for a while the
// API server is still led to it.
func TestWebhooks_refuseNoWriteDuringARollout(t *testing.T) {
	t.Parallel()
	const heardAfter = 200 * time.Millisecond
	for name, sleep := range map[string]time.Duration{"with the hook": 2 * heardAfter, "but do without the hook": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startRenewal(t, newIssuance(t, filepath.Join("..", "..", "config", "bmm", "default")))
			for range 3 {
				address, leave := r.serve()
				time.AfterFunc(heardAfter, func() { r.address.Store(address) })
				heard := func() { r.t.Helper(); r.Eventually(r.address.Load).Should(Equal(address)) }
				if time.Sleep(sleep); sleep > 0 {
					heard() // a timer may be late
				}
				r.leave()
				heard()
				r.whileWritesGoOn()
				r.leave = leave
			}
			if refused := r.stop(); sleep > 0 {
				r.Expect(len(refused)).To(BeZero(), "%v", refused)
			} else {
				r.Expect(refused).NotTo(BeEmpty())
			}
		})
	}
}

// renewal is a manager whose webhooks the API server asks about each of the writes that come all the time.
type renewal struct {
	*WithT
	t           *testing.T
	client      client.Client
	issued      *issuance
	hooks       *admissionregistrationv1.ValidatingWebhookConfiguration
	dir         string       // with the certificate, as in a Pod
	address     atomic.Value // of the webhooks, as the Service knows it
	leave       func()       // of the manager
	connections atomic.Int64
	writes      atomic.Int64
	stop        func() (refused []error)
}

func startRenewal(t *testing.T, issued *issuance) *renewal {
	t.Helper()
	r := &renewal{WithT: NewWithT(t), t: t, client: testenv.Client(t), issued: issued, dir: t.TempDir()}
	r.SetDefaultEventuallyTimeout(time.Minute)
	issued.issueAuthority()
	issued.issue(issued.leaf)
	r.mount()
	address, leave := r.serve()
	r.leave = leave
	r.address.Store(address)
	r.write(r.configure())
	r.Eventually(r.connections.Load).Should(BeNumerically(">", 0), "the API server asks")
	r.whileWritesGoOn()
	return r
}

// renew the certificate: first the API server trusts its CA, then the manager has it.
func (r *renewal) renew() {
	r.t.Helper()
	r.issued.issue(r.issued.leaf)
	r.inject()
	r.whileWritesGoOn()
	r.mount()
	r.Eventually(r.shown).Should(Equal(r.issued.secrets[r.issued.leaf].parsed.SerialNumber.String()))
	r.whileWritesGoOn()
}

// inject the CA, and return when the API server has it: then it opens new connections.
func (r *renewal) inject() {
	r.t.Helper()
	bundle := r.issued.secrets[r.issued.leaf].authority
	if string(r.hooks.Webhooks[0].ClientConfig.CABundle) == string(bundle) {
		return
	}
	r.hooks.Webhooks[0].ClientConfig.CABundle = bundle
	before := r.connections.Load()
	r.Expect(r.client.Update(r.t.Context(), r.hooks)).To(Succeed())
	r.Eventually(r.connections.Load).Should(BeNumerically(">", before))
}

// mount the certificate as the kubelet does: a link is replaced, so that both files change at once.
func (r *renewal) mount() {
	r.t.Helper()
	secret, data := r.issued.secrets[r.issued.leaf], filepath.Join(r.dir, "..data")
	before, _ := os.Readlink(data)
	next, err := os.MkdirTemp(r.dir, "..")
	r.Expect(err).NotTo(HaveOccurred())
	for name, content := range map[string][]byte{"tls.crt": secret.certificate, "tls.key": secret.key} {
		r.Expect(os.WriteFile(filepath.Join(next, name), content, 0o600)).To(Succeed())
		if before == "" {
			r.Expect(os.Symlink(filepath.Join("..data", name), filepath.Join(r.dir, name))).To(Succeed())
		}
	}
	r.Expect(os.Symlink(filepath.Base(next), data+"_tmp")).To(Succeed())
	r.Expect(os.Rename(data+"_tmp", data)).To(Succeed())
	if before != "" {
		r.Expect(os.RemoveAll(filepath.Join(r.dir, before))).To(Succeed())
	}
}

// shown is the number of the certificate that the webhooks are served with.
func (r *renewal) shown() (number string, err error) {
	return shownAt(r.address.Load().(string))
}

func shownAt(address string) (number string, err error) {
	connection, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return "", err
	}
	defer func() { _ = connection.Close() }()
	return connection.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

// serve starts a manager whose webhook allows everything, and returns when it answers.
func (r *renewal) serve() (address string, leave func()) {
	r.t.Helper()
	free := testenv.FreeAddress(r.t, net.IPv4(127, 0, 0, 1))
	address = free.String()
	options := &Options{
		Name: "test", Kubeconfig: testenv.Kubeconfig(r.t), HealthAddress: "0", MetricsAddress: "0",
		WebhookPort: free.Port, WebhookCertDir: r.dir,
	}
	mgr, err := options.New(testenv.Scheme(r.t))
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(options.Webhooks(mgr, func(mgr ctrl.Manager) error {
		mgr.GetWebhookServer().Register("/", &admission.Webhook{Handler: admission.HandlerFunc(
			func(context.Context, admission.Request) admission.Response { return admission.Allowed("") },
		)})
		return nil
	})).To(Succeed())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	leave = sync.OnceFunc(func() { stop(); r.Expect(<-ended).To(Succeed()) })
	r.t.Cleanup(leave)
	r.Eventually(func() (string, error) { return shownAt(address) }).ShouldNot(BeEmpty())
	return address, leave
}

// configure the API server to ask about the objects of a namespace, with what else the manifests say.
func (r *renewal) configure() (namespace string) {
	r.t.Helper()
	namespace = testenv.Namespace(r.t)
	hook := r.issued.hooks.Webhooks[0]
	hook.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
	hook.Rules = []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}
	hook.ClientConfig = admissionregistrationv1.WebhookClientConfig{
		URL: ptr.To("https://" + r.forward()), CABundle: r.issued.secrets[r.issued.leaf].authority,
	}
	r.hooks = &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace}, Webhooks: []admissionregistrationv1.ValidatingWebhook{hook},
	}
	r.Expect(r.client.Create(r.t.Context(), r.hooks)).To(Succeed())
	r.t.Cleanup(func() { r.Expect(r.client.Delete(context.Background(), r.hooks)).To(Succeed()) })
	return namespace
}

// forward connections to the webhooks, and count them.
func (r *renewal) forward() (address string) {
	listener, err := (&net.ListenConfig{}).Listen(r.t.Context(), "tcp", "127.0.0.1:0")
	r.Expect(err).NotTo(HaveOccurred())
	r.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			r.connections.Add(1)
			to, err := net.Dial("tcp", r.address.Load().(string))
			if err != nil {
				_ = from.Close()
				continue
			}
			copied := func(to, from net.Conn) {
				_, _ = io.Copy(to, from)
				_ = to.Close()
			}
			go copied(to, from)
			go copied(from, to)
		}
	}()
	return listener.Addr().String()
}

// write all the time, until stopped.
func (r *renewal) write(namespace string) {
	r.t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "written"}}
	r.Expect(r.client.Create(r.t.Context(), object)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	var refused []error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			next := object.DeepCopy()
			next.Data = map[string]string{"write": strconv.FormatInt(r.writes.Load(), 10)}
			if err := r.client.Patch(ctx, next, client.MergeFrom(object)); err != nil && ctx.Err() == nil {
				refused = append(refused, err)
			}
			r.writes.Add(1)
		}
	}()
	r.stop = sync.OnceValue(func() []error {
		cancel()
		<-ended
		return refused
	})
	r.t.Cleanup(func() { r.stop() })
}

// whileWritesGoOn returns after some more of them.
func (r *renewal) whileWritesGoOn() {
	r.t.Helper()
	const some = 20
	before := r.writes.Load()
	r.Eventually(r.writes.Load).Should(BeNumerically(">", before+some))
}
