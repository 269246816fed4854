package kraketest

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/krake/tosca"
	"github.com/bedplate/bedplate/internal/optest"
)

// callsAtRest and reconcilesAtRest are what an object, and what it needs, may cause in a poll interval.
const callsAtRest, reconcilesAtRest = 6, 8

// Observe clusters and providers: those that are made have one node, which is ready. It has to be called before controllers run.
func (f *Fixture) Observe() {
	f.t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"front"},"status":{"conditions":[`+
			`{"type":"Ready","status":"True"}]}}]}`)
	}))
	f.t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	f.IM.Kubeconfig = func(sim.Cluster) (string, error) { return Kubeconfig(server), nil }
	f.Config.ObserveInterval = Poll
}

// collectGarbage as Kubernetes does, and tests' API servers don't: Secrets go with the Clusters that own them.
func (f *Fixture) collectGarbage(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(Poll):
		}
		var secrets corev1.SecretList
		_ = f.Client.List(ctx, &secrets, client.InNamespace(f.Namespace)) // or a moment later
		for i := range secrets.Items {
			for _, of := range secrets.Items[i].OwnerReferences {
				owner := &krakev1.Cluster{}
				err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: of.Name}, owner)
				if apierrors.IsNotFound(err) || err == nil && owner.UID != of.UID {
					_ = f.Client.Delete(ctx, &secrets.Items[i], client.Preconditions{UID: &secrets.Items[i].UID})
				}
			}
		}
	}
}

// Kubeconfig of a server.
func Kubeconfig(server *httptest.Server) string {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]
contexts: [{name: c, context: {cluster: c, user: c}}]
users: [{name: c, user: {token: t}}]
current-context: c
`, server.URL, base64.StdEncoding.EncodeToString(ca))
}

// World of the operations suite: the controllers, and an object that isn't created yet. Condition says whether it is as its spec wants it.
func (f *Fixture) World(object client.Object, condition string) *optest.World {
	go f.collectGarbage(f.t.Context())
	world := f.Fixture.World(object, f.look)
	world.Condition, world.Poll, world.CallsAtRest, world.ReconcilesAtRest = condition, Poll, callsAtRest, reconcilesAtRest
	return world
}

// look at all that exists at the manager, in a form that is the same at another one, and at what a status shows of it.
func (f *Fixture) look(status map[string]any) (all []string, moving bool) {
	names := optest.Names{}
	for _, i := range f.IM.State() {
		if i.Record {
			continue
		}
		names[i.ID] = "infrastructure"
		moving = moving || slices.Contains([]im.State{im.Pending, im.Running, im.Deleting}, i.State)
		detail := map[string]any{"state": string(i.State), "machines": len(i.VMs), "cloud": i.Cloud, "user": i.User}
		if template, err := tosca.Parse(i.Template); err == nil { // whose it is differs
			detail["means"], detail["madeOf"] = template.Hash(), template.Mark().Hash
		}
		all = append(all, names.Text("infrastructure", detail))
	}
	if status != nil {
		all = append(all, names.Text("status", status, "conditions", "nodes", "vms", "log"))
	}
	return all, moving
}
