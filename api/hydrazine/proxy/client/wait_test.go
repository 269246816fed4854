package client

import (
	"testing"

	. "github.com/onsi/gomega"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
)

const yes, no = proxyv1.Condition_STATUS_TRUE, proxyv1.Condition_STATUS_FALSE

// publicIP of a generation whose condition Ready is about another one.
func publicIP(generation, observed int64, ready proxyv1.Condition_Status) *proxyv1.PublicIP {
	return &proxyv1.PublicIP{
		Metadata: &proxyv1.Metadata{Generation: generation},
		Status: &proxyv1.PublicIPStatus{Conditions: []*proxyv1.Condition{
			{Type: "Other", Status: yes, ObservedGeneration: generation},
			{Type: "Ready", Status: ready, ObservedGeneration: observed, Reason: "Why", Message: "because"},
		}},
	}
}

// given to a host, whose address is announced with nextHop by speakers.
func given(ip *proxyv1.PublicIP, nextHop string, speakers ...string) *proxyv1.PublicIP {
	ip.Status.Allocated, ip.Status.NextHop, ip.Status.AnnouncedBy = true, nextHop, speakers
	return ip
}

func TestIsReady_isSaidOfTheSpecThatIsThere(t *testing.T) {
	t.Parallel()
	const unseen, silent = "its latest change hasn't been seen yet", "a host has it, and it isn't announced yet"
	for name, c := range map[string]struct {
		ip    *proxyv1.PublicIP
		ready bool
		why   string
	}{
		"nothing is said":                      {&proxyv1.PublicIP{}, false, "no controller has seen it yet"},
		"free":                                 {publicIP(1, 1, yes), true, "Why: because"},
		"not ready":                            {publicIP(1, 1, no), false, "Why: because"},
		"an older generation":                  {publicIP(2, 1, yes), false, unseen},
		"of no generation":                     {publicIP(1, 0, yes), false, unseen},
		"announced":                            {given(publicIP(1, 1, yes), "172.18.0.105", "a"), true, "Why: because"},
		"announced, of an older generation":    {given(publicIP(2, 1, yes), "172.18.0.105", "a"), false, unseen},
		"given away since it was said":         {given(publicIP(1, 1, yes), ""), false, silent},
		"attached since it was said":           {given(publicIP(1, 1, yes), "172.18.0.105"), false, silent},
		"withdrawn since it was said, in part": {given(publicIP(1, 1, yes), "", "a"), false, silent},
		"given away, and not ready":            {given(publicIP(1, 1, no), ""), false, "Why: because"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ready, why := isPublicIPReady(c.ip)
			g := NewWithT(t)
			g.Expect(ready).To(Equal(c.ready))
			g.Expect(why).To(Equal(c.why))
		})
	}
}
