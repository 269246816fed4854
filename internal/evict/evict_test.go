package evict_test

import (
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/evict"
)

// crowd notes who has been evicted.
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

func TestSet_isUsedByManyAtATime(t *testing.T) {
	t.Parallel()
	s := evict.New[int](50)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for range 1000 {
				e := s.Add(worker, 10, func() {})
				e.Grow(5)
				e.Remove()
			}
		})
	}
	all.Wait()
	NewWithT(t).Expect(s.Weight()).To(BeZero())
}
