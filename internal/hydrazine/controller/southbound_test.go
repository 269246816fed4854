package controller_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
)

// shown is the certificate that a port's DPU shows its southbound database.
func (f *fixture) shown(a *agentstest.Agent, port int) *agentv1.SouthboundTLS {
	f.t.Helper()
	return a.Says().GetPorts()[port].GetAssignment().GetSouthboundTls()
}

func TestCertificate_isForTheDPUAndStays(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.lease = 15 * time.Second
	f.run()
	group := f.group("blue")
	said := f.report(2)
	said.Ports = append(said.GetPorts(), &agentv1.Port{Name: "pf1hpf", Up: true})
	agent := agentstest.Start(t, f.loopback(2), f.port(), said)
	host := f.host("blue", 2, func(r *resourcev1.ManagedResource) { r.Spec.Identifier = "pf0hpf" })
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	own := f.shown(agent, 0)
	block, _ := pem.Decode([]byte(own.GetCertificate()))
	f.Expect(block).NotTo(BeNil())
	certificate, err := x509.ParseCertificate(block.Bytes)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(certificate.Subject.String()).To(Equal("CN=dpu2"))
	f.Expect(certificate.NotAfter).To(BeTemporally("~", time.Now().Add(30*24*time.Hour), time.Hour))
	authority, err := os.ReadFile(fmt.Sprintf("%s/ovn-%s/ca.crt", f.dir, group.UID))
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(own.GetAuthorities()).To(Equal(string(authority)))
	f.Expect(agent.Says().GetPorts()[0].GetAssignment().GetSouthbound()).To(HavePrefix("ssl:"))

	// The lease is renewed, another port gets a host, the controller is restarted: the certificate is still good.
	calls := agent.Calls("Attach")
	f.Eventually(func() int { return agent.Calls("Attach") }).WithTimeout(patience).Should(BeNumerically(">", calls+1))
	f.run()
	second := f.host("blue", 3, func(r *resourcev1.ManagedResource) {
		r.Spec.Identifier, r.Spec.DPUIPs[0] = "pf1hpf", resourcev1.IPAddress(f.dpu(2))
	})
	f.becomes(second, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	for port := range 2 {
		f.Expect(f.shown(agent, port).GetCertificate()).To(Equal(own.GetCertificate()))
	}

	// An agent that has lost its key asks for another one.
	agent.Say(func(r *agentstest.Said) { r.SouthboundRequest = agentstest.Request("dpu2") })
	f.Eventually(func() string { return f.shown(agent, 0).GetCertificate() }).WithTimeout(patience).ShouldNot(Equal(own.GetCertificate()))
	f.Eventually(func(g Gomega) {
		g.Expect(f.shown(agent, 1).GetCertificate()).To(Equal(f.shown(agent, 0).GetCertificate()), "one for both")
	}).WithTimeout(patience).Should(Succeed())
}

func TestCertificate_ofALostAuthorityIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group := f.group("blue")
	agent := f.agent(2)
	host := f.host("blue", 2)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.bind(group, host, agent, 2)
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	before := f.shown(agent, 0)
	f.Expect(os.Remove(fmt.Sprintf("%s/ovn-%s/ca.key", f.dir, group.UID))).To(Succeed())
	f.Eventually(func() string { return f.shown(agent, 0).GetAuthorities() }).WithTimeout(patience).ShouldNot(Equal(before.GetAuthorities()))
	f.Expect(f.shown(agent, 0).GetCertificate()).NotTo(Equal(before.GetCertificate()))
}

func TestCertificate_requestThatMakesNoSense(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	said := f.report(2)
	said.SouthboundRequest = "please"
	agent := agentstest.Start(t, f.loopback(2), f.port(), said)
	host := f.host("blue", 2)
	f.Expect(f.becomes(host, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "InvalidAgentReport")).To(ContainSubstring("isn't PEM"))
	f.Expect(agent.Calls("Attach")).To(BeZero())
}

// An agent from before TLS keeps a host that it has, and its lease; it isn't given another one.
func TestCertificate_ofAnOlderAgent(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.lease = 15 * time.Second
	f.run()
	group := f.group("blue")
	older := func(r *agentstest.Said) { r.Level, r.SouthboundRequest = 1, "" }
	agent := f.agent(2)
	agent.Say(older)
	host := f.host("blue", 2)
	f.Expect(f.becomes(host, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "AgentOlder")).To(ContainSubstring("--southbound-plaintext"))
	f.Expect(agent.Calls("Attach")).To(BeZero())

	agent.Say(func(r *agentstest.Said) { r.SouthboundRequest = agentstest.Request("dpu2") })
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	agent.Say(func(r *agentstest.Said) {
		older(r)
		r.GetPorts()[0].Assignment.Southbound, r.GetPorts()[0].Assignment.SouthboundTls = "tcp:127.0.0.1:16640", nil
	})
	f.becomes(host, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "AgentOlder")
	calls := agent.Calls("Attach")
	f.Eventually(func() int { return agent.Calls("Attach") }).WithTimeout(patience).Should(BeNumerically(">", calls+1))
	now := agent.Says().GetPorts()[0].GetAssignment()
	f.Expect(now.GetSouthbound()).To(Equal("tcp:127.0.0.1:16640"))
	f.Expect(now.GetGroupUid()).To(Equal(string(group.UID)))
}
