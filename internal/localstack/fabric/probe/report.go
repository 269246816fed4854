package probe

import (
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Report says how a stream went.
type Report struct {
	Sent       int
	Lost       int           // without an answer
	Duplicates int           // answers to what was answered before
	LongestGap time.Duration // see below; 0 when nothing was lost
	Slowest    time.Duration // of all answers: over TCP, nothing is lost but late
	Sources    []netip.Addr  // what the server saw the messages come from, in order of appearance
}

// A gap is the time from the sending of the last answered message before a loss to the sending of the first answered one
// after it. It begins with the stream when nothing was answered before, and ends with it when nothing was answered after.

func (r Report) String() string {
	return fmt.Sprintf("%d sent, %d lost, longest gap %s, slowest answer %s", r.Sent, r.Lost,
		r.LongestGap.Round(time.Millisecond), r.Slowest.Round(time.Microsecond))
}

// record is what is known of a stream's messages. Their index is their sequence number.
type record struct {
	sent       []time.Time
	latency    []time.Duration // 0: not answered
	answered   int
	duplicates int
	sources    []netip.Addr
}

func (r *record) send(at time.Time) {
	r.sent = append(r.sent, at)
	r.latency = append(r.latency, 0)
}

// answer notes an answer. It is new unless the message wasn't sent or was answered before.
func (r *record) answer(sequence uint64, source netip.Addr, at time.Time) (latency time.Duration, isNew bool) {
	if sequence >= uint64(len(r.sent)) {
		return 0, false
	}
	if r.latency[sequence] != 0 {
		r.duplicates++
		return 0, false
	}
	latency = max(at.Sub(r.sent[sequence]), 1)
	r.latency[sequence] = latency
	r.answered++
	if source.IsValid() && !slices.Contains(r.sources, source) {
		r.sources = append(r.sources, source)
	}
	return latency, true
}

func (r *record) report() Report {
	report := Report{
		Sent: len(r.sent), Lost: len(r.sent) - r.answered, Duplicates: r.duplicates, Sources: slices.Clone(r.sources),
		LongestGap: r.longestGap(),
	}
	for _, latency := range r.latency {
		report.Slowest = max(report.Slowest, latency)
	}
	return report
}

func (r *record) longestGap() time.Duration {
	var longest time.Duration
	begin, lost := 0, false
	for i := range r.sent {
		answered := r.latency[i] != 0
		if lost = lost || !answered; lost {
			longest = max(longest, r.sent[i].Sub(r.sent[begin]))
		}
		if answered {
			begin, lost = i, false
		}
	}
	return longest
}
