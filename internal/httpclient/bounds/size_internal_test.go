package bounds

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestSize_isAboutWhatAnObjectTakes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	type part struct{ A, B, C string }
	type object struct {
		Name    string
		Parts   []part
		Labels  map[string]string
		Created time.Time
		Next    *part
	}
	small := Size(&object{})
	g.Expect(small).To(BeNumerically("~", 16+24+8+24+8))
	large := &object{Name: "0123456789", Parts: make([]part, 10), Labels: map[string]string{"key": "value"}, Created: time.Now(), Next: &part{A: "a"}}
	g.Expect(Size(large)).To(BeNumerically("~", small+10+10*Size(&part{})+mapEntry+40+49, 50))
}
