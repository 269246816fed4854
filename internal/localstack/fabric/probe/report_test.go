package probe

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestReport_findsTheLongestGap(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answered string // one letter for each message, one second apart: o was answered
		lost     int
		gap      time.Duration
	}{
		"nothing sent":      {answered: ""},
		"nothing lost":      {answered: "oooo"},
		"one lost":          {answered: "oo-oo", lost: 1, gap: 2 * time.Second},
		"the longer of two": {answered: "o-o--o", lost: 3, gap: 3 * time.Second},
		"until the end":     {answered: "oo---", lost: 3, gap: 3 * time.Second},
		"from the start":    {answered: "--oo", lost: 2, gap: 2 * time.Second},
		"all lost":          {answered: "---", lost: 3, gap: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var r record
			begin := time.Now()
			for i, letter := range test.answered {
				at := begin.Add(time.Duration(i) * time.Second)
				r.send(at)
				if letter == 'o' {
					r.answer(uint64(i), netip.Addr{}, at.Add(time.Millisecond))
				}
			}
			report := r.report()
			g.Expect(report.Sent).To(Equal(len(test.answered)))
			g.Expect(report.Lost).To(Equal(test.lost))
			g.Expect(report.LongestGap).To(Equal(test.gap))
		})
	}
}
