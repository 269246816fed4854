package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric/frr"
)

func notEstablished(says string) OmegaMatcher {
	return And(HaveField("State", Not(Equal("Established"))), HaveField("Message", ContainSubstring(says)))
}

func TestSession_saysWhyItIsNotEstablished(t *testing.T) {
	w := newWorld(t)
	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) {
		s.Neighbors = append(s.Neighbors, neighbor("172.18.0.99"), neighbor("172.18.0.2"))
		s.Neighbors[0].ASN = 65001
	})
	w.speaker(1)
	w.Eventually(w.session(1, router)).WithTimeout(patience).Should(notEstablished("isn't in the autonomous system 65001: correct the neighbor's asn"))
	w.Eventually(w.session(1, "172.18.0.2")).WithTimeout(patience).Should(notEstablished("172.18.0.2:179 refuses connections"))
	w.Eventually(w.session(1, "172.18.0.99")).WithTimeout(patience).Should(notEstablished("no route to host"))

	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) { s.Neighbors[0].ASN, s.ASN = routers, 64513 })
	w.Eventually(w.session(1, router)).WithTimeout(patience).Should(
		notEstablished("configured there with the autonomous system 64513"))

	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) { s.ASN = speakers })
	w.established(1, router)
	w.frr("leaf", routers, "172.18.0.2") // which knows no neighbors
	w.Eventually(w.session(1, "172.18.0.2")).WithTimeout(patience).Should(notEstablished("make this speaker a neighbor there"))
}

func TestSession_isSignedWithAPassword(t *testing.T) {
	const password = "correct-horse-battery"
	w := newWorld(t, frr.Neighbor{Address: addrs(addressOf(1))[0], ASN: speakers, Password: password})
	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) { s.Neighbors[0].PasswordSecret = "hydrazine-bgp" })
	w.publicIP("203.0.113.60", hop)
	w.speaker(1)
	w.Eventually(w.session(1, router)).WithTimeout(patience).Should(notEstablished("there is no Secret hydrazine-bgp"))
	w.secret("hydrazine-bgp", "wrong-horse")
	w.Eventually(w.session(1, router)).WithTimeout(patience).Should(notEstablished("both ends have the same password"))
	w.secret("hydrazine-bgp", password)
	w.established(1, router)
	w.Eventually(w.routes).WithTimeout(patience).Should(HaveKeyWithValue("203.0.113.60/32", by(addressOf(1), hop)))

	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) { s.Neighbors[0].PasswordSecret = "another" })
	w.Eventually(w.session(1, router)).WithTimeout(patience).Should(And(HaveField("State", "Established"),
		HaveField("Message", ContainSubstring("may not read Secret another"))), "the session goes on as it is")
	log, err := os.ReadFile(filepath.Join(w.dir, "speaker1.log"))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(string(log)).NotTo(ContainSubstring("horse"))
}

func TestSession_overIPv6(t *testing.T) {
	w := newWorld(t, frr.Neighbor{Address: addrs("fd00:18::11")[0], ASN: speakers})
	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) { s.Neighbors[0].Address = router6 })
	w.publicIP("203.0.113.70", hop)
	w.publicIP("2001:db8::70", hop6)
	w.speaker(1)
	w.established(1, router6)
	w.Eventually(w.routes).WithTimeout(patience).Should(Equal(map[string]map[string]string{
		"203.0.113.70/32":  by("fd00:18::11", hop),
		"2001:db8::70/128": by("fd00:18::11", hop6),
	}))
}

func TestSession_isNotTouchedByOthers(t *testing.T) {
	w := newWorld(t)
	leaf := w.frr("leaf", routers, "172.18.0.2", frr.Neighbor{Address: addrs(addressOf(1))[0], ASN: speakers})
	w.configure()
	w.publicIP("203.0.113.80", hop)
	speaker := w.speaker(1)
	w.established(1, router)
	w.Expect(listening(speaker.PID())).To(And(Not(BeEmpty()), HaveEach(HavePrefix("0100007F:"))), "its probes, at 127.0.0.1: it dials neighbors, and none dials it")
	before, err := w.session(1, router)()
	w.Expect(err).NotTo(HaveOccurred())
	lost := w.watchRoute("fabric", "203.0.113.80/32")
	leafs := func() (map[string]map[string]string, error) { return nextHops(t.Context(), leaf) }

	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) {
		s.Neighbors = append(s.Neighbors, neighbor("172.18.0.2"))
	})
	w.established(1, "172.18.0.2")
	w.Eventually(leafs).WithTimeout(patience).Should(HaveKey("203.0.113.80/32"))
	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) { s.Neighbors[1].HoldTime.Duration = 12 * time.Second })
	w.established(1, "172.18.0.2")
	w.Eventually(leafs).WithTimeout(patience).Should(HaveKey("203.0.113.80/32"))
	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) { s.Neighbors = s.Neighbors[:1] })
	w.Eventually(leafs).WithTimeout(patience).Should(BeEmpty())

	w.Expect(w.session(1, router)()).To(HaveField("Since", Equal(before.Since)))
	w.Expect(lost.Load()).To(BeZero())
	w.Eventually(w.session(1, "172.18.0.2")).WithTimeout(patience).Should(BeZero())
}

// listening are the addresses, as the kernel writes them, at which the network namespace of a process listens by TCP.
func listening(pid int) (at []string, err error) {
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			return nil, err
		}
		for _, line := range strings.Split(string(text), "\n") {
			const state, listen = 3, "0A"
			if fields := strings.Fields(line); len(fields) > state && fields[state] == listen {
				at = append(at, fields[1])
			}
		}
	}
	return at, nil
}

// Routes of neighbors are discarded: through a speaker none gets another one's.
func TestSession_passesNothingOn(t *testing.T) {
	const other = 65002 // or else FRR would see a loop
	w := newWorld(t)
	leaf := w.frr("leaf", other, "172.18.0.2", frr.Neighbor{Address: addrs(addressOf(1))[0], ASN: speakers})
	_, err := leaf.Do(t.Context(), "configure", fmt.Sprint("router bgp ", other), "no bgp network import-check",
		"address-family ipv4 unicast", "network 192.0.2.0/24")
	w.Expect(err).NotTo(HaveOccurred())
	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) {
		s.Neighbors = append(s.Neighbors, neighbor("172.18.0.2"))
		s.Neighbors[1].ASN = other
	})
	w.publicIP("203.0.113.90", hop)
	w.speaker(1)
	w.established(1, router)
	w.established(1, "172.18.0.2")
	w.Eventually(func() (string, error) {
		return leaf.Do(t.Context(), "show bgp ipv4 unicast neighbors "+addressOf(1)+" advertised-routes")
	}).WithTimeout(patience).Should(ContainSubstring("192.0.2.0/24"))
	w.Eventually(w.routes).WithTimeout(patience).Should(HaveKey("203.0.113.90/32"))
	w.Consistently(w.routes).WithTimeout(2 * time.Second).ShouldNot(HaveKey("192.0.2.0/24"))
}
