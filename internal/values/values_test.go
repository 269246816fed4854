package values_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/values"
)

func TestOf_countsWhatIsDecoded(t *testing.T) {
	t.Parallel()
	for text, n := range map[string]int{
		``: 0, `17`: 0, `{}`: 1, `[{},{}]`: 4, `{"a":[1,2]}`: 4, `{"a":"{,:["}`: 2, `{"a\"{":1}`: 2, `{}{}`: 2, `[[[`: 3, `]]`: 0,
	} {
		g := NewWithT(t)
		counted, ok := values.Of([]byte(text), n+1, 3)
		g.Expect(ok).To(BeTrue(), text)
		g.Expect(counted).To(Equal(n), text)
		if n > 0 {
			_, ok = values.Of([]byte(text), n, 3)
			g.Expect(ok).To(BeFalse(), text)
		}
	}
	_, ok := values.Of([]byte(`[[[[`), 100, 3)
	NewWithT(t).Expect(ok).To(BeFalse(), "too deep")
}
