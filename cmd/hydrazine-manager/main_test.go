package main

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
)

func TestFlags_areChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lease, heartbeat, poll time.Duration
		says                   string
	}{
		{lease: 7 * 24 * time.Hour, heartbeat: time.Second, poll: time.Hour},
		{lease: 4 * time.Second, heartbeat: time.Second, poll: 2 * time.Second},
		{time.Hour, time.Second - 1, time.Second, "--agent-heartbeat"},
		{time.Hour, 0, time.Second, "--agent-heartbeat"},
		{7*24*time.Hour + 1, time.Second, time.Second, "--lease"},
		{4*time.Second - 1, time.Second, time.Second, "--lease"},
		{time.Minute - 1, time.Second, 30 * time.Second, "--lease"},
		{time.Hour, 1 << 61, time.Second, "--lease"},
	} {
		err := (&flags{lease: c.lease, heartbeat: c.heartbeat, agentPort: 1, speakers: "speakers"}).check(c.poll)
		if c.says == "" {
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
		} else {
			NewWithT(t).Expect(err).To(MatchError(HavePrefix(c.says)))
		}
	}
}

// Without its Lease it isn't known when the last word of a silent speaker has expired.
func TestFlags_nameAPortAndANamespaceThatThereCanBe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ arg, says string }{
		{"--agent-port=0", "--agent-port=0: must be"},
		{"--speakers-namespace=", `--speakers-namespace="": must be`},
		{"--speakers-namespace=a/b", `--speakers-namespace="a/b": must be`},
	} {
		f, set := &flags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
		f.add(set)
		NewWithT(t).Expect(set.Parse([]string{c.arg})).To(Succeed())
		NewWithT(t).Expect(f.check(30 * time.Second)).To(MatchError(HavePrefix(c.says)))
	}
}

func TestFlags_areAcceptedAsTheyAre(t *testing.T) {
	t.Parallel()
	f := &flags{}
	f.add(pflag.NewFlagSet("", pflag.ContinueOnError))
	NewWithT(t).Expect(f.check(30 * time.Second)).To(Succeed())
}
