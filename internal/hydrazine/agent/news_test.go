package agent

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestFollow_isntWokenByItsOwnFailure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fails bool
		times int
	}{"news": {false, 10}, "failure": {true, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), daemonPoll-2*pause)
			defer cancel()
			n, times := newNews(), 0
			n.follow(ctx, func() bool {
				times++
				n.announce()
				return test.fails
			})
			g := NewWithT(t)
			g.Expect(ctx.Err()).To(MatchError(context.DeadlineExceeded))
			if test.fails {
				g.Expect(times).To(Equal(test.times))
			} else {
				g.Expect(times).To(BeNumerically(">=", test.times))
			}
		})
	}
}

func TestFollow_looksWithoutNews(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	times := 0
	newNews().follow(ctx, func() bool {
		if times++; times == 2 {
			cancel()
		}
		return true
	})
	NewWithT(t).Expect(times).To(Equal(2))
}
