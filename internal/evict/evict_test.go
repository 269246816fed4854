package evict_test

import (
	"strconv"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/evict"
)

// crowd records evictions.
type crowd struct {
	*evict.Set[string]
	gone []string
}

func (c *crowd) add(key, name string, weight int) *evict.Entry[string] {
	return c.Add(key, weight, func() { c.gone = append(c.gone, name) })
}

func TestSet_evictsTheOldestOfWhoHasTheMost(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), &crowd{Set: evict.New[string](3)}
	c.add("blue", "known", 1).Remove()
	c.add("blue", "first", 1)
	c.add("red", "other", 1)
	c.add("blue", "second", 1)
	g.Expect(c.gone).To(BeEmpty(), "there is room")
	c.add("green", "third", 1)
	g.Expect(c.gone).To(Equal([]string{"first"}))
	last := c.add("blue", "fourth", 1)
	g.Expect(c.gone).To(Equal([]string{"first", "second"}))
	last.Remove()
	last.Remove()
	c.add("grey", "fifth", 1)
	g.Expect(c.gone).To(HaveLen(2), "there is room again")
	c.add("white", "sixth", 1)
	g.Expect(c.gone).To(Equal([]string{"first", "second", "other"}), "the oldest of all, where each has one")
	g.Expect(c.Weight()).To(Equal(3))
}

func TestSet_evictsTheHeaviestOfWhoHasTheMost(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), &crowd{Set: evict.New[string](100)}
	red := c.add("red", "red", 0)
	small, large := c.add("blue", "small", 0), c.add("blue", "large", 0)
	red.Grow(45)
	small.Grow(20)
	large.Grow(30)
	g.Expect(c.gone).To(BeEmpty())
	red.Grow(10)
	g.Expect(c.gone).To(Equal([]string{"red"}), "red has the most")
	red.Grow(-10)
	red.Grow(1000)
	red.Remove()
	g.Expect(c.Weight()).To(Equal(50), "who is gone has nothing")
	small.Grow(-20)
	small.Grow(80)
	g.Expect(c.gone).To(Equal([]string{"red", "small"}))
	large.Grow(71)
	g.Expect(c.gone).To(Equal([]string{"red", "small", "large"}))
	g.Expect(c.Weight()).To(BeZero())
}

func TestSet_keepsWhatHasBeenOfUse(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), &crowd{Set: evict.New[string](8)}
	first, second := c.add("blue", "first", 1), c.add("blue", "second", 1)
	first.Keep()
	second.Keep()
	for i := range 20 {
		c.add(strconv.Itoa(i), strconv.Itoa(i), 1)
	}
	g.Expect(c.gone).To(HaveLen(14))
	g.Expect(c.gone).NotTo(ContainElement("first"), "blue has the most, but the others are of no use")
	c.add("blue", "third", 1)
	g.Expect(c.gone[14]).To(Equal("14"), "what is kept doesn't count against the rest")

	var kept []*evict.Entry[string]
	for _, name := range []string{"a", "b", "c"} {
		kept = append(kept, c.add(name, name, 1))
		kept[len(kept)-1].Keep()
	}
	g.Expect(c.Weight()).To(Equal(8))
	c.add("new", "new", 1)
	g.Expect(c.gone[len(c.gone)-1]).To(Equal("first"), "half of the room is for those that aren't kept")
	second.Keep()
	c.add("d", "d", 1).Keep()
	c.add("newer", "newer", 1)
	g.Expect(c.gone[len(c.gone)-1]).To(Equal("a"), "of those that have the same, the one that was of use longest ago")
	g.Expect(c.Weight()).To(Equal(8))
	c.Add("x", 1, func() {}).Remove()
	kept[0].Keep()
	g.Expect(c.Weight()).To(BeNumerically("<=", 8), "one that has gone isn't kept")
}

func TestSet_isUsedByManyAtATime(t *testing.T) {
	t.Parallel()
	s := evict.New[int](50)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for range 1000 {
				e := s.Add(worker, 10, func() {})
				e.Grow(5)
				e.Keep()
				e.Remove()
			}
		})
	}
	all.Wait()
	NewWithT(t).Expect(s.Weight()).To(BeZero())
}
