package provider_test

import (
	"bytes"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator/simulatortest"
)

// A Secret leads to another account: all that was made is gone there, as the services say and prove. Nothing is given up, neither by the spec
// nor by a deletion, and nothing is made again.
func TestTrouble_theSecretLeadsToAnotherAccount(t *testing.T) {
	t.Parallel()
	const account = "0123456789abcdef0123456789abcdef"
	here, there := []byte("http://127.0.0.1:1"), []byte("http://127.0.0.2:1")
	f := powervstest.StartCloud(t)
	other := powervstest.StartCloudIn(t, f.Client, f.Namespace, func(c *sim.Config) { c.Account = account })
	f.Transport = simulatortest.Transport(func(host string) http.Handler {
		if host == "127.0.0.2:1" {
			return other.Cloud
		}
		return f.Cloud
	})
	f.RunProvider(powervstest.Poll, powervstest.Settle)
	c := f.CreateCluster("demo")
	image := f.CreateImage("demo", powervstest.ImageName)
	m := f.CreateMachine("demo", "demo-0", []byte("data"))
	f.UntilReady(c)
	f.UntilReady(image)
	f.UntilProvisioned(m)
	before := f.Items()
	lead := func(from, to []byte) {
		powervstest.Change(f, &corev1.Secret{ObjectMeta: f.Secret("demo").ObjectMeta}, func(s *corev1.Secret) {
			for key, value := range s.Data {
				s.Data[key] = bytes.ReplaceAll(value, from, to)
			}
		})
	}
	refused := func() {
		f.UntilReason(c, infrav1.ReferencesResolvedCondition, "Credentials", account)
		f.UntilReason(m, infrav1.InstanceReadyCondition, "Credentials", account)
		f.UntilReason(image, infrav1.ImageReadyCondition, "Credentials", account)
		f.Expect(f.Items()).To(Equal(before))
		f.Expect(other.Cloud.State().Empty()).To(BeTrue())
	}
	lead(here, there)
	refused()
	lead(there, here)
	f.UntilReady(c)
	f.UntilReady(m)
	f.UntilReady(image)
	lead(here, there)
	refused()
	f.Delete(m)
	f.Delete(image)
	refused()
	lead(there, here)
	f.UntilGone(m)
	f.UntilGone(image)
	f.Delete(c)
	f.UntilGone(c)
	f.Expect(f.Cloud.State().Empty()).To(BeTrue())
}
