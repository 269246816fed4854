package creates

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
)

// A tenant may write any number of Secrets into its namespace, all with the same login.
func TestTurn_aTenantWithManySecretsGetsNoMoreThanAnotherOne(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := newEndpoint(2)
	waits := map[string][]Place{}
	at := func(tenant string, n int) Place {
		p := Place{Credentials: fmt.Sprintf("%s/secret-%d", tenant, n)}
		p.Owner.Name.Name = p.Credentials
		return p
	}
	for n := range 20 {
		p := at("many", n)
		if !e.take(p) {
			waits["many"] = append(waits["many"], p)
		}
	}
	one := at("one", 0)
	for n := range 4 { // all with the same Secret
		one.Owner.Name.Name = fmt.Sprintf("one-%d", n)
		g.Expect(e.take(one)).To(BeFalse())
		waits["one"] = append(waits["one"], one)
	}
	for round := range 4 { // in each of which two creates are answered
		for range 2 {
			e.end(e.working[0])
			for range e.wake() {
				i := 0
				for ; e.waiting[i].woken.IsZero(); i++ {
				}
				g.Expect(e.take(e.waiting[i].Place)).To(BeTrue())
			}
		}
		left := 0
		for _, w := range e.waiting {
			if w.Credentials == one.Credentials {
				left++
			}
		}
		g.Expect(left).To(Equal(3-round), "one of the two turns is theirs")
	}
}

// A tenant chooses where its login is, and when that answers. The site isn't asked before.
func TestTurn_aLoginThatHangsSaysNothingOfTheSite(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := newEndpoint(3)
	p := Place{Site: "shared", Credentials: "bad/secret"}
	e.learnFrom(p, 15*time.Second, &fault.Error{Class: fault.Transient, Op: "log in"})
	for n := range 2 {
		g.Expect(e.take(Place{Site: "shared", Credentials: fmt.Sprintf("good/secret-%d", n)})).To(BeTrue())
	}
}

// What an owner needs its turn for may change while it waits: the type of its instance, say. It still wants one turn only.
func TestTurn_isNotKeptForWhatAnOwnerWantedBefore(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := newEndpoint(1)
	at := func(owner, lock string) Place {
		p := Place{Lock: lock, Key: "instance", Credentials: "a/secret"}
		p.Owner.Name.Name = owner
		return p
	}
	g.Expect(e.take(at("one", ""))).To(BeTrue())
	g.Expect(e.take(at("two", "small"))).To(BeFalse())
	g.Expect(e.take(at("two", "large"))).To(BeFalse())
	g.Expect(e.take(at("three", ""))).To(BeFalse())
	e.end(at("one", ""))
	g.Expect(e.wake()).To(HaveLen(1))
	g.Expect(e.take(at("two", "large"))).To(BeTrue())
	e.end(at("two", "large"))
	g.Expect(e.wake()).To(Equal([]Owner{at("three", "").Owner}))
}
