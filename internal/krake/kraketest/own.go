package kraketest

import (
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/krake/tosca"
)

// API is the user's own access to the manager: its changes are outside the controllers.
func (f *Fixture) API() *im.Client {
	f.t.Helper()
	api, err := im.New(im.Config{
		URL:    Address,
		Login:  im.Credential{im.FieldID: "im", im.FieldType: im.TypeIM, im.FieldUsername: Username, im.FieldPassword: Password},
		Clouds: []im.Credential{{im.FieldID: "cloud", im.FieldType: "Dummy"}},
		Limits: httpclient.Limits{Egress: egress.Policy{Loopback: true}, HTTP: &http.Client{Transport: f.Transport}},
	})
	f.Expect(err).NotTo(HaveOccurred())
	return api
}

// MakeOwn makes an infrastructure that is of the same template, the user's own.
func (f *Fixture) MakeOwn() (id string) {
	f.t.Helper()
	id, err := f.API().Create(f.t.Context(), Template)
	f.Expect(err).NotTo(HaveOccurred())
	return id
}

// Intact is an error if the infrastructure of the user's own isn't as MakeOwn has left it.
func (f *Fixture) Intact(id string) error {
	for _, i := range f.IM.State() {
		if i.ID == id && len(i.VMs) == 2 && i.State != im.Deleting && !i.Record {
			return nil
		}
	}
	return fmt.Errorf("infrastructure %s was changed or deleted", id)
}

// UntilAtRest waits until nothing at the manager is in transition.
func (f *Fixture) UntilAtRest() {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		for _, i := range f.IM.State() {
			g.Expect(i.State).NotTo(BeElementOf(im.Pending, im.Running, im.Deleting), "%+v", i)
		}
	}).WithPolling(time.Millisecond).Should(Succeed())
}

// OwnerOf an infrastructure, as its template says; empty if it isn't a Cluster's.
func OwnerOf(i sim.Item) string {
	template, err := tosca.Read(i.Template)
	if err != nil {
		return ""
	}
	return template.Mark().Owner
}
