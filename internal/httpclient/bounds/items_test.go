package bounds

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	. "github.com/onsi/gomega"
)

// What is cut, and decoded, is what encoding/json would decode, however it comes: all of it, or nothing.
func FuzzItems(f *testing.F) {
	for _, text := range []string{
		``, `null`, ` null `, `nul`, `nullx`, `[]`, ` [ ] `, `[]]`, `[,]`, `{}`, `"x"`, `17`, `[1]`, `[null]`, `[[]]`, `[{"id":"a"}]`,
		`[{"id":"a"} , {"id":"b"}]`, `[{"id":"a"},]`, `[{"id":"a"}{"id":"b"}]`, `[{"id":"a"}`, `[{"id":"a"`, `[{"id":"a"]`,
		`[{"id":"}{][,\""},{"id":"b\\"}]`, `[{"id":"a","c":{"d":[1,{"e":"]"}]}}] x`, `[{"id":}]`, `[{"id":"a"}}]`, "[{\"id\":\"a\n\"}]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g := NewWithT(t)
		var wanted []json.RawMessage
		failed := json.Unmarshal([]byte(text), &wanted)
		for _, item := range wanted {
			if failed == nil && item[0] != '{' {
				failed = errors.New("not a list of objects")
			}
		}
		memory := ShareOf(t.Name())
		defer memory.Release()
		found, err := decodeAll(NewBody(iotest.OneByteReader(strings.NewReader(text)), memory))
		if failed != nil {
			g.Expect(err).To(HaveOccurred(), "%v", failed)
			return
		}
		if errors.Is(err, errTooMuch) {
			return
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(found).To(HaveLen(len(wanted)))
		for n := range wanted {
			var object map[string]any
			g.Expect(json.Unmarshal(wanted[n], &object)).To(Succeed())
			g.Expect(found[n]).To(Equal(object))
		}
	})
}

func decodeAll(b *Body) (all []map[string]any, err error) {
	items := ItemsOf(b)
	if list, err := items.Begin(); !list {
		return nil, err
	}
	for {
		text, err := items.Next()
		if err != nil || text == nil {
			return all, err
		}
		var object map[string]any
		if err := Unmarshal(text, &object); err != nil {
			return nil, err
		}
		all = append(all, object)
	}
}
