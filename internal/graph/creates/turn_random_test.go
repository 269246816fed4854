package creates

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
)

// Whichever owners come, in whatever order and however late: no limit is exceeded, no lock is held twice, and every owner
// gets a turn.
func TestTurn_isNeverOneTooManyAndNobodyIsForgotten(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { serveAll(NewWithT(t), rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func serveAll(g *WithT, random *rand.Rand) {
	pool := &Pool{Limit: 1 + random.IntN(4)}
	const name = "the site"
	var waiting, working []Place
	for n := range 30 {
		at := Place{Endpoint: name, Lock: []string{"", "a", "b"}[random.IntN(3)], Credentials: strconv.Itoa(random.IntN(3))}
		at.Owner.Name.Name = strconv.Itoa(n)
		waiting = append(waiting, at)
	}
	pause := []time.Duration{time.Millisecond, keptFor, lateFor}[random.IntN(3)]
	for steps := 0; len(waiting) > 0; steps++ {
		g.Expect(steps).To(BeNumerically("<", 10000), "an owner waits for ever")
		if random.IntN(10) == 0 {
			time.Sleep(pause)
			synctest.Wait()
		}
		if i := random.IntN(20); i < len(working) {
			answer := []error{nil, &fault.Error{Overloaded: true}}[random.IntN(2)]
			pool.free(working[i], func(e *endpoint) { e.heed(answer) })
			working = slices.Delete(working, i, i+1)
		}
		i := random.IntN(min(len(waiting), 6)) // others come later
		if _, free := pool.Turn(waiting[i]); free {
			at := waiting[i]
			holds := func(other Place) bool { return at.Lock != "" && at.Lock == other.Lock }
			g.Expect(slices.ContainsFunc(working, holds)).To(BeFalse(), "a lock is held twice")
			waiting, working = slices.Delete(waiting, i, i+1), append(working, at)
			g.Expect(len(working)).To(BeNumerically("<=", pool.Limit))
		}
		g.Expect(pool.endpoints[name].next()).To(Equal(-1), "there is room, and who is next wasn't woken")
	}
}
