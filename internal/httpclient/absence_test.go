package httpclient_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
)

func TestProven_isWhatTheServiceSaysTwiceAndAControlCallDoesNotContradict(t *testing.T) {
	t.Parallel()
	gone := &fault.Error{Class: fault.NotFound, Op: "get thing", Err: errors.New("404")}
	for name, row := range map[string]struct {
		answers []error
		control error
		class   fault.Class
	}{
		"it is there":                      {answers: []error{nil}},
		"another error":                    {answers: []error{errors.New("500")}, class: fault.Transient},
		"it is gone":                       {answers: []error{gone, gone}, class: fault.NotFound},
		"the service recovers meanwhile":   {answers: []error{gone, nil}},
		"the service knows nothing at all": {answers: []error{gone}, control: errors.New("404"), class: fault.Transient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			asked := 0
			err := httpclient.Proven(t.Context(), func(context.Context) error {
				asked++
				return row.answers[asked-1]
			}, func(context.Context) error { return row.control }, "endpoint and path")
			g.Expect(fault.ClassOf(err)).To(Equal(row.class))
			g.Expect(asked).To(Equal(len(row.answers)))
			if row.control != nil {
				g.Expect(err).To(MatchError("get thing: 404 (this doesn't prove that it is absent: check endpoint and path)"))
			}
		})
	}
}
