package powervstest

import (
	"net/http"
	"strings"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/managertest"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// API is the user's own access to the account: its changes are outside the provider.
func (f *Fixture) API() *ibm.Client {
	f.t.Helper()
	api, err := ibm.New(ibm.Config{APIKey: sim.DefaultAPIKey, Endpoints: endpoints, Limits: httpclient.Limits{
		Egress: egress.Policy{Loopback: true}, HTTP: &http.Client{Transport: f.Transport},
	}})
	f.Expect(err).NotTo(HaveOccurred())
	return api
}

// Change an object, and retry on conflict.
func Change[T client.Object](f *Fixture, object T, change func(T)) {
	f.t.Helper()
	managertest.Change(f.Fixture, object, change)
}

// Made are the names of what clients have made of a kind, and that isn't gone.
func (f *Fixture) Made(kind sim.Kind) (names []string) {
	for _, item := range f.Cloud.State()[kind] {
		if !item.World && !item.Record {
			names = append(names, item.Name)
		}
	}
	return names
}

// owner is written instead of the ID of an object that something was made for.
const owner = "OWNER"

// NameOf something outside, the same in each world: without what is random in it.
func NameOf(name string) string {
	if strings.HasPrefix(name, "unnamed-") {
		return "unnamed"
	}
	parts := strings.Split(name, "-")
	for i, part := range parts {
		if ledgers.IsOwnerID(part) {
			parts[i] = owner
		}
	}
	return strings.Join(parts, "-")
}
