package memo_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"

	"github.com/bedplate/bedplate/internal/memo"
)

func TestMemo_asksOnceForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		m := memo.New[string, int](time.Minute, time.Second, clock.RealClock{})
		calls := 0
		ask := func(question string) (int, error) {
			return m.Get(t.Context(), question, func(context.Context) (int, error) { calls++; return calls, nil })
		}
		g.Expect(ask("a")).To(Equal(1))
		g.Expect(ask("a")).To(Equal(1))
		g.Expect(ask("b")).To(Equal(2))
		time.Sleep(time.Minute + time.Second) // of the bubble's own time
		g.Expect(ask("a")).To(Equal(3))
	})
}

func TestMemo_sharesACallAndItsFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		m := memo.New[string, int](time.Minute, time.Second, clock.RealClock{})
		calls, answer := 0, make(chan error)
		ask := func(ctx context.Context) (int, error) {
			return m.Get(ctx, "a", func(context.Context) (int, error) { calls++; return 7, <-answer })
		}
		gone, leave := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		asking.Go(func() {
			_, err := ask(gone)
			g.Expect(err).To(MatchError(context.Canceled))
		})
		for range 3 {
			asking.Go(func() { _, err := ask(t.Context()); g.Expect(err).To(MatchError("down")) })
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		answer <- errors.New("down")
		asking.Wait()
		g.Expect(calls).To(Equal(1))

		_, err := ask(t.Context())
		g.Expect(err).To(MatchError("down"), "for a while")
		g.Expect(calls).To(Equal(1))
		time.Sleep(2 * time.Second) // of the bubble's own time
		go func() { answer <- nil }()
		g.Expect(ask(t.Context())).To(Equal(7))
	})
}

// Another caller's call may end between the check and the call.
func TestCalls_lookOnceMoreBeforeTheCall(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var calls memo.Calls[int]
	looks := 0
	recall := func() (int, bool, error) { looks++; return 7, looks == 2, nil }
	find := func(context.Context) (int, error) { return 0, errors.New("it was known") }
	g.Expect(calls.Share(t.Context(), "a", recall, find)).To(Equal(7))
}

func TestValue_isFoundOnceUntilItExpiresOrIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var v memo.Value[int]
		calls := 0
		get := func() (int, error) {
			return v.Get(t.Context(), func(context.Context) (int, time.Time, error) {
				calls++
				return calls, time.Now().Add(time.Minute), nil
			})
		}
		g.Expect(get()).To(Equal(1))
		g.Expect(get()).To(Equal(1))
		time.Sleep(time.Minute) // of the bubble's own time
		_, known := v.Recall()
		g.Expect(known).To(BeFalse())
		g.Expect(get()).To(Equal(2))
		v.Forget(1)
		g.Expect(get()).To(Equal(2), "there already is another one")
		v.Forget(2)
		g.Expect(get()).To(Equal(3))

		var failing memo.Value[int]
		_, err := failing.Get(t.Context(), func(context.Context) (int, time.Time, error) { return 0, time.Time{}, errors.New("down") })
		g.Expect(err).To(MatchError("down"))
		_, known = failing.Recall()
		g.Expect(known).To(BeFalse(), "an error isn't kept")
	})
}
