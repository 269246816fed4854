package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/orphans"
	"github.com/bedplate/bedplate/internal/testenv"
)

// incomplete runs the command that has to fail because something can't be read, and returns what it prints all the same.
func incomplete(e *ends, args ...string) *orphans.Report {
	e.t.Helper()
	out, err := e.run("", append([]string{"orphans", "-o", "json"}, args...)...)
	e.Expect(err).To(MatchError(ContainSubstring("the report is incomplete")), out)
	report := &orphans.Report{}
	e.Expect(json.Unmarshal([]byte(out), report)).To(Succeed(), out)
	return report
}

func TestOrphans_unknownIsNotAbsent(t *testing.T) {
	t.Parallel()
	testenv.MachineAPI(t, "Default")
	e, secret, cluster := startCluster(t)
	machine := e.CreateMachine("demo", "worker-1", []byte("#cloud-config"))
	e.UntilReady(machine)
	owners := abandon(e, machine) + "," + abandon(e, cluster)
	args := []string{"--secret", secret, "--delete", "--owner", owners}

	for kind, left := range map[string][]string{
		"nvidiabmmclusters": {"subnet", "VPC"}, "nvidiabmmmachines": {"instance"}, "machines": {"instance", "subnet", "VPC"},
	} {
		e.management.refuse = func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/"+kind) }
		report := incomplete(e, "--secret", secret)
		e.Expect(report.Incomplete).To(ConsistOf(ContainSubstring("(get " + kind + ".")))
		e.Expect(report.LeftOut).To(HaveLen(len(left)))
		for _, o := range report.LeftOut {
			e.Expect(o.Kind).To(BeElementOf(left))
			e.Expect(o.Why).To(ContainSubstring("these can't be read"))
		}
		if kind != "nvidiabmmclusters" { // without clusters, the instance is an orphan all the same
			e.Expect(incomplete(e, args...).Incomplete).To(HaveLen(1))
			e.Expect(e.datacenter.written()).To(BeEmpty())
		}
	}
	e.management.refuse = func(*http.Request) bool { return false }

	e.Refuse(http.StatusServiceUnavailable, "listVpcs")
	report := incomplete(e, args...)
	e.Expect(report.Orphans).To(BeEmpty(), "half a world is none")
	e.Expect(report.Incomplete).To(ConsistOf(And(ContainSubstring("secret "+secret), ContainSubstring("503"))))
	out, _ := e.run("", append([]string{"orphans"}, args...)...)
	e.Expect(out).To(And(ContainSubstring("INCOMPLETE: this couldn't be read:\n  secret "+secret), HaveSuffix("\nNo orphans of "+owners+" in what could be seen.\n")))
	e.Expect(e.datacenter.written()).To(BeEmpty())
}

// A tenant's server shows what another tenant has, and says of each that it is gone.
func TestOrphans_aFalseServerHidesNothing(t *testing.T) {
	t.Parallel()
	e, secret, cluster := startCluster(t)
	owner := abandon(e, cluster)

	target, err := url.Parse(e.Endpoint)
	e.Expect(err).NotTo(HaveOccurred())
	proxy := httputil.NewSingleHostReverseProxy(target)
	one := regexp.MustCompile("/(vpc|subnet)/[^/]+$")
	liar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if one.MatchString(r.URL.Path) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"message": "Could not find it"}`)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(liar.Close)
	false := e.Secret("false")
	false.Namespace, false.Data["endpoint"] = testenv.Namespace(t), []byte(liar.URL)
	e.Create(false)
	both := []string{"--secret", false.Namespace + "/false", "--secret", secret, "--owner", owner}
	e.Expect(idsOf(listed(e, both...).Orphans)).To(HaveLen(4), "each thing in each account")
	e.Eventually(func() []bmm.VPC {
		_, _ = e.run("", append([]string{"orphans", "--delete"}, both...)...)
		return e.Sim.State().VPCs
	}).Should(BeEmpty())
	e.Expect(listed(e, "--secret", secret).Orphans).To(BeEmpty())
}

// Not parallel: it reads with the Secrets of all objects.
func TestOrphans_oneTenantsTroubleHidesNothingOfAnothers(t *testing.T) {
	poor, rich := start(t), start(t)
	for _, e := range []*ends{poor, rich} {
		e.UntilReady(e.CreateCluster("demo"))
	}
	lost := map[*ends]string{}
	for _, e := range []*ends{poor, rich} {
		cluster := e.CreateCluster("lost", func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.Name = "lost" })
		e.UntilReady(cluster)
		lost[e] = abandon(e, cluster)
	}
	broken := poor.CreateCluster("broken")
	poor.UntilReady(broken)
	bmmtest.Change(poor.Fixture, poor.Secret("broken"), func(s *corev1.Secret) { s.Data = nil })

	report := incomplete(rich)
	rich.Expect(report.Incomplete).To(ConsistOf(ContainSubstring("secret " + poor.Namespace + "/broken can't be used")))
	ownersOf := func(all []*orphans.Orphan) map[string]int {
		owners := map[string]int{}
		for _, o := range all {
			owners[o.Owner]++
		}
		return owners
	}
	rich.Expect(ownersOf(report.Orphans)).To(Equal(map[string]int{lost[poor]: 2, lost[rich]: 2}))

	poor.LoseLedger(broken)
	report = incomplete(rich)
	rich.Expect(report.Incomplete).To(ConsistOf(ContainSubstring("secret "+poor.Namespace+"/broken can't be used"),
		ContainSubstring("NvidiaBMMCluster "+poor.Namespace+"/broken: its ledger is lost")))
	rich.Expect(ownersOf(report.Orphans)).To(Equal(map[string]int{lost[rich]: 2}))
	rich.Expect(ownersOf(report.LeftOut)).To(HaveKeyWithValue(lost[poor], 2))
}

// Not parallel: it reads with the Secrets of all clusters.
func TestOrphans_aLostLedgerIsNoLedger(t *testing.T) {
	e := start(t)
	cluster := e.CreateCluster("demo")
	e.UntilReady(cluster)
	out, err := e.run("", "orphans")
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(out).To(Equal("No orphans.\n"))

	ledger := e.LoseLedger(cluster)
	report := incomplete(e)
	e.Expect(report.Incomplete).To(ConsistOf(ContainSubstring(e.Namespace + "/demo: its ledger is lost")))
	e.Expect(report.Orphans).To(BeEmpty())
	e.Expect(idsOf(report.LeftOut)).To(ConsistOf(e.Sim.State().VPCs[0].ID, e.Sim.State().Subnets[0].ID))

	e.Restore(ledger)
	_, err = e.run("", "orphans")
	e.Expect(err).NotTo(HaveOccurred())
}
