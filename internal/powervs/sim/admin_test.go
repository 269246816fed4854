package sim_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// steer uses one of the simulator's own endpoints.
func (b bench) steer(method, path, body string) string {
	r, err := http.NewRequestWithContext(b.t.Context(), method, "http://"+adminHost+"/simulator/"+path, strings.NewReader(body))
	b.Expect(err).NotTo(HaveOccurred())
	answer, err := b.http.Do(r)
	return read(b, answer, err)
}

func TestAdmin_steersWhatHappens(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		id := b.newWorkspace("demo")
		b.Expect(b.steer("GET", "state", "")).To(ContainSubstring(`{"instance":[{"id":"` + id + `","name":"demo","status":"active"`))
		b.Expect(b.steer("GET", "calls", "")).To(ContainSubstring(`"resourcecontroller.createResourceInstance":1`))
		b.Expect(b.steer("POST", "status", `{"id":"`+id+`","status":"failed","message":"fire"}`)).To(HavePrefix("204 "))
		b.Expect(b.state(id)).To(Equal("failed"))
		b.Expect(b.steer("POST", "status", `{"id":"none","status":"failed"}`)).To(HavePrefix("400 "))
		b.Expect(b.steer("POST", "outcomes", `{"kind":"instance","status":"failed"}`)).To(HavePrefix("204 "))
		b.Expect(b.steer("POST", "outcomes", `{"kind":"none","status":"failed"}`)).To(HavePrefix("400 "))
		b.Expect(b.state(b.newWorkspace("second"))).To(Equal("failed"))
		b.Expect(b.steer("POST", "vanish", `{"id":"`+id+`"}`)).To(HavePrefix("204 "))
		b.Expect(b.state(id)).To(Equal(http.StatusNotFound))
		b.Expect(b.steer("DELETE", "tokens", "")).To(HavePrefix("204 "))
		b.Expect(b.state(id)).To(Equal(http.StatusUnauthorized))
		b.Expect(b.steer("POST", "apikeys", `{"value":"`+sim.DefaultAPIKey+`","disabled":true}`)).To(HavePrefix("204 "))
		_, err := b.login.RequestToken()
		b.Expect(err).To(MatchError(ContainSubstring("disabled")))
	})
}

func TestConfig_isReadFromAFile(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "account.yaml")
	load := func(text string) (sim.Config, error) {
		g.Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
		return sim.Load(path)
	}
	const account = "account: a\napiKeys: [{value: k, iamId: i}]\nresourceGroups: [{id: g, name: Default}]\nzones: [{name: dal10, region: us-south}]\n"
	c, err := load(account + "times: {server: 1m}\nspeed: 60\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Times.Server.Minutes()).To(Equal(1.0))
	for what, text := range map[string]string{
		"an unknown field":    account + "colour: red\n",
		"no zones":            "account: a\napiKeys: [{value: k, iamId: i}]\nresourceGroups: [{id: g, name: Default}]\n",
		"no account":          "speed: 1\n",
		"a negative speed":    account + "speed: -1\n",
		"an instance nowhere": account + "instances: [{id: x, name: x, plan: " + sim.PlanPower + ", target: mars1}]\n",
		"a network of words": account + "instances: [{id: x, name: x, plan: " + sim.PlanPower +
			", target: dal10, networks: [{id: n, name: n, cidr: words}]}]\n",
	} {
		_, err := load(text)
		g.Expect(err).To(HaveOccurred(), what)
	}
}
