package client

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
	type item struct {
		ID    string          `json:"id"`
		Other json.RawMessage `json:"c"`
	}
	f.Fuzz(func(t *testing.T, text string) {
		g := NewWithT(t)
		var wanted []item
		failed := json.Unmarshal([]byte(text), &wanted)
		for _, i := range wanted {
			if failed == nil && rightObject(&i, "") != nil {
				failed = errors.New("not an object of the API")
			}
		}
		l := &listing[item]{memory: &share{of: answers, who: t.Name()}, most: maxListed}
		defer l.memory.release()
		err := l.decodeFrom(newBody(iotest.OneByteReader(strings.NewReader(text)), l.memory))
		if failed != nil {
			g.Expect(err).To(HaveOccurred(), "%v", failed)
			return
		}
		if errors.Is(err, errTooMuch) || len(wanted) > pageSize {
			return
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(l.items).To(HaveLen(len(wanted)))
		for n := range wanted {
			g.Expect(l.items[n]).To(Equal(wanted[n]))
		}
	})
}
