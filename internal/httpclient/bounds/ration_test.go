package bounds

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestRation_leavesSomethingForWhoComes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &ration{limit: 120, taken: map[string]int{}}
	greedy, late := &Share{of: r, who: "greedy"}, &Share{of: r, who: "late"}
	g.Expect(greedy.Set(60)).To(Succeed())
	g.Expect(greedy.Set(61)).To(MatchError(errNoMemory))
	g.Expect((&Share{of: r, who: "greedy"}).Set(1)).To(MatchError(errNoMemory), "however many calls they are")
	g.Expect(late.Set(30)).To(Succeed())
	g.Expect(late.Set(31)).To(MatchError(errNoMemory))
	g.Expect(greedy.Set(40)).To(Succeed(), "less is always possible")
	g.Expect(late.Set(40)).To(Succeed())
	greedy.Release()
	late.Release()
	g.Expect(r.total).To(BeZero())
	g.Expect(r.taken).To(BeEmpty())
}

func TestSize_isAboutWhatAValueTakes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	type inner struct{ Name string }
	type object struct {
		Name    string
		Inner   []inner
		Labels  map[string]string
		Pointer *inner
		At      time.Time
	}
	small := Size(&object{})
	large := &object{
		Name: "0123456789", Inner: make([]inner, 10), Labels: map[string]string{"key": "value"}, Pointer: &inner{"x"}, At: time.Now(),
	}
	g.Expect(Size(large)).To(Equal(small + 10 + 10*16 + mapEntry + 32 + len("keyvalue") + 16 + 1))
}
