package httpclient_test

import (
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
)

// An answer that there was no room for says nothing.
func TestAnswer_thatIsNotReadForWantOfMemoryIsNotJudged(t *testing.T) { //nolint:paralleltest // all tests share the memory
	g := NewWithT(t)
	namespace := t.Name()
	c := newToy(t, at(httpclienttest.Start(t, map[string]http.HandlerFunc{"/": httpclienttest.Reply(400, `{"message":"no machine is free"}`)})), func(c *httpclient.Config) {
		c.Secret = namespace + "/toy"
		c.Classify = func(a httpclient.Answer) httpclient.Meaning {
			if strings.Contains(string(a.Body), "no machine is free") {
				return httpclient.Meaning{Class: fault.Quota}
			}
			return httpclient.Meaning{Class: fault.Invalid}
		}
	})
	_, err := c.Create(t.Context())
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Quota))
	others := bounds.ShareOf(namespace)
	t.Cleanup(others.Release)
	g.Expect(others.Set(48 << 20)).To(Succeed())
	_, err = c.Create(t.Context())
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient), "%v", err)
}
