package creates

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

// What a tenant's own endpoint answers has up to 2 MB, and a tenant that pauses its objects, or removes their finalizers, takes
// none of it.
func TestPool_keepsFewAnswersThatNobodyAsksFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		pool := &Pool{Limit: 3}
		create := func(tenant string, n int) (token string) {
			at := Place{Endpoint: fmt.Sprintf("%s-%d", tenant, n), Credentials: tenant + "/secret"}
			turn, free := pool.Turn(at)
			g.Expect(free).To(BeTrue())
			turn.Run(t.Context(), at.Endpoint, func(context.Context) (any, error) {
				time.Sleep(time.Second)
				return &at.Endpoint, nil
			})
			return at.Endpoint
		}
		one := create("one", 0)
		time.Sleep(2 * time.Second)
		var many []string
		for n := range 100 {
			many = append(many, create("many", n))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		kept := 0
		for _, token := range many {
			if _, known := pool.Answer(token); known {
				kept++
			}
		}
		g.Expect(kept).To(BeNumerically("<=", 16), "the ledger has the intention, so the others are looked for")
		_, known := pool.Answer(one)
		g.Expect(known).To(BeTrue(), "another tenant's stays")
	})
}
