package simulator_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/simulator"
)

func TestLife_followsTheClock(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	deleted := func(l *simulator.Life) { l.Delete(at(50), 10*time.Second); l.Delete(at(55), time.Hour) }
	failed := func(l *simulator.Life) { l.Force(at(5), "Error", "a fan is broken") }
	for name, c := range map[string]struct {
		change func(*simulator.Life)
		at     int
		status string
		since  int
		gone   bool
	}{
		"at first":                              {at: 9, status: simulator.Pending},
		"after a tenth":                         {at: 10, status: simulator.Provisioning},
		"at the end":                            {at: 100, status: simulator.Ready, since: 100},
		"forced, before that":                   {change: failed, at: 4, status: simulator.Pending},
		"forced":                                {change: failed, at: 200, status: "Error", since: 100},
		"deleted while it is provisioned":       {change: deleted, at: 59, status: simulator.Deleting, since: 50},
		"gone, by the first of two deletes":     {change: deleted, at: 60, status: simulator.Deleting, since: 50, gone: true},
		"forced and no longer":                  {change: func(l *simulator.Life) { failed(l); l.Force(at(6), "", "") }, at: 20, status: simulator.Provisioning, since: 6},
		"deleted, whatever status it is forced": {change: func(l *simulator.Life) { failed(l); deleted(l) }, at: 55, status: simulator.Deleting, since: 50},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			life := simulator.NewLife(start, 100*time.Second)
			if c.change != nil {
				c.change(&life)
			}
			g.Expect(life.Status(at(c.at))).To(Equal(c.status))
			g.Expect(life.Updated(at(c.at))).To(Equal(at(c.since)))
			g.Expect(life.Gone(at(c.at))).To(Equal(c.gone))
		})
	}
}

func TestStore_forgetsOnlyWhatIsGone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	start := time.Now()
	stays, goes := simulator.NewLife(start, 0), simulator.NewLife(start, 0)
	goes.Delete(start, time.Second)
	s := simulator.Store[*simulator.Life]{}
	s.Add(&goes)
	s.Add(&stays)
	deleting := func(l *simulator.Life) bool { return l.Status(start) == simulator.Deleting }
	g.Expect(s.Count(deleting)).To(Equal(1))
	s.Forget(start)
	g.Expect(s.Items).To(HaveLen(2))
	s.Forget(start.Add(time.Second))
	g.Expect(s.Items).To(ConsistOf(&stays))
	g.Expect(s.Any(deleting)).To(BeFalse())
	_, found := s.Find(deleting)
	g.Expect(found).To(BeFalse())
}
