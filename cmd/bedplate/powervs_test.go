package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// powervsEnds are a management cluster and an account of IBM Cloud, each behind a wire.
type powervsEnds struct {
	*powervstest.Fixture
	t                 *testing.T
	management, cloud *wire
	kubeconfig        string
}

func startPowerVS(t *testing.T, start func(*testing.T, ...func(*sim.Config)) *powervstest.Fixture) *powervsEnds {
	t.Helper()
	e := &powervsEnds{Fixture: start(t), t: t}
	server := httptest.NewServer(e.Cloud)
	t.Cleanup(server.Close)
	e.cloud = newWire(t, server.URL, http.DefaultTransport)
	e.management, e.kubeconfig = wireManagement(t, e.Namespace)
	return e
}

func (e *powervsEnds) run(stdin string, args ...string) (string, error) {
	e.t.Helper()
	return runWith(e.t, catalogue{bmmSystem, powervsSystem}, strings.NewReader(stdin), append(args, loopback, "--kubeconfig", e.kubeconfig)...)
}

func (e *powervsEnds) golden(name, text string) {
	e.t.Helper()
	golden(e, name, strings.NewReplacer(e.Namespace, "NAMESPACE", e.cloud.url, "ENDPOINT").Replace(withoutChance(text)))
}

// secret logs in by the wire.
func (e *powervsEnds) secret(name string) *corev1.Secret {
	secret := e.Secret(name)
	for key, url := range secret.Data {
		secret.Data[key] = []byte(strings.ReplaceAll(string(url), "http://127.0.0.1:1", e.cloud.url))
	}
	return secret
}

// onlyLoggedIn proves that nothing was written outside but the request for a token.
func (e *powervsEnds) onlyLoggedIn() {
	e.t.Helper()
	e.Expect(e.management.written()).To(BeEmpty())
	e.Expect(e.cloud.written()).To(HaveEach("POST /identity/token"))
	e.Expect(e.cloud.reads).To(BeNumerically(">", 0))
}

func (e *powervsEnds) example(name string) string {
	e.t.Helper()
	text, err := examples.Render(name, map[string]string{
		"CLUSTER_NAME": "demo", "NAMESPACE": e.Namespace, "KUBERNETES_VERSION": "v1.36.3",
		"CONTROL_PLANE_MACHINE_COUNT": "3", "WORKER_MACHINE_COUNT": "2", "IBMCLOUD_API_KEY": sim.DefaultAPIKey,
		"IBMACCOUNT_ID": sim.DefaultAccount, "IBM_RESOURCE_GROUP": sim.DefaultResourceGroup, "IBMPOWERVS_ZONE": sim.DefaultZone,
		"IBMPOWERVS_REGION": "dal", "IBMPOWERVS_SSHKEY_NAME": sim.DefaultSSHKey, "IBMVPC_REGION": powervstest.Region,
		"COS_BUCKET_NAME": "images", "COS_BUCKET_REGION": powervstest.Region, "COS_OBJECT_NAME": "kubernetes.ova.gz",
	})
	e.Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// The Secret of the file has the key only: where the account is it says to the management cluster already.
func TestPlan_ofThePowerVSExamples(t *testing.T) {
	t.Parallel()
	e := startPowerVS(t, powervstest.StartCloud)
	e.Expect(e.Client.Create(t.Context(), e.secret("demo-ibmcloud"))).To(Succeed())
	for _, name := range []string{"powervs", "powervs-ignition"} {
		out, err := e.run(e.example(name), "plan", "-f", "-")
		e.Expect(err).NotTo(HaveOccurred(), out)
		e.golden("plan-"+name, out)
	}
	e.onlyLoggedIn()
}

func TestPlan_ofAPowerVSClusterThatChanges(t *testing.T) {
	t.Parallel()
	e := startPowerVS(t, powervstest.Start)
	object := e.CreateCluster("demo")
	e.UntilReady(object)
	e.relogin(object)
	e.UntilAtRest()
	e.Expect(e.Read(object)).To(Succeed())
	name := object.Spec.Authentication.SecretRef.Name
	file := `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: IBMPowerVSCluster
metadata: {name: demo, annotations: {powervs.cluster.x-k8s.io/create-infra: "true"}}
spec:
  authentication: {secretRef: {name: ` + name + `}}
  zone: dal10
  resourceGroup: {name: Default}
  vpc: {region: us-south}
  loadBalancers: [{name: other}]
`
	out, err := e.run(file, "plan", "-f", "-")
	e.Expect(err).NotTo(HaveOccurred(), out)
	e.golden("plan-powervs-changed", out)
	e.onlyLoggedIn()
}

// relogin lets a cluster's Secret lead to the account by the wire. For the provider it is the same.
func (e *powervsEnds) relogin(object *infrav1.IBMPowerVSCluster) {
	e.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: object.Spec.Authentication.SecretRef.Name}}
	powervstest.Change(e.Fixture, secret, func(s *corev1.Secret) { s.Data = e.secret(s.Name).Data })
}

// What has no tags is an orphan only by the ledger of an object that is gone; virtual machines are by their tags.
func TestOrphans_ofPowerVSAreThoseOfALedgerThatIsLeft(t *testing.T) {
	t.Parallel()
	e := startPowerVS(t, powervstest.StartCloud)
	stop := e.RunProvider(powervstest.Poll, powervstest.Settle)
	object := e.CreateCluster("demo")
	e.UntilReady(object)
	e.relogin(object)
	e.UntilAtRest()
	const none = "No orphans"
	orphans := func(args ...string) string {
		out, err := e.run("", append([]string{
			"orphans", "--system", "powervs", "--secret", e.Namespace + "/" + object.Spec.Authentication.SecretRef.Name,
		}, args...)...)
		e.Expect(err).NotTo(HaveOccurred(), out)
		return out
	}
	e.Expect(orphans()).To(ContainSubstring(none))
	owner := e.Ledger(object).Spec.OwnerID
	stop()
	powervstest.Change(e.Fixture, object, func(c *infrav1.IBMPowerVSCluster) { c.Finalizers = nil })
	e.Expect(client.IgnoreNotFound(e.Client.Delete(t.Context(), object))).To(Succeed())
	out := orphans("--owner", owner)
	for _, kind := range []string{infrav1.KindWorkspace, infrav1.KindVPC, infrav1.KindLoadBalancer, infrav1.KindTransitGateway, infrav1.KindNetwork} {
		e.Expect(out).To(ContainSubstring(kind))
	}
	e.Expect(out).NotTo(ContainSubstring(infrav1.KindZone), "it was the user's own")
	e.Eventually(func() string { return orphans("--owner", owner, "--delete") }).Should(ContainSubstring(none))
	e.Expect(e.Cloud.State().Empty()).To(BeTrue(), "%+v", e.Cloud.State())
}
