package patch_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/patch"
)

func TestHolds_whatIsWantedAndMaybeMoreFields(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	type list = []any
	for name, row := range map[string]struct {
		has, wanted any
		holds       bool
	}{
		"the same":               {object{"a": "b"}, object{"a": "b"}, true},
		"a default beside it":    {object{"a": "b", "c": int64(1)}, object{"a": "b"}, true},
		"another value":          {object{"a": "b"}, object{"a": "c"}, false},
		"a field is missing":     {object{}, object{"a": "b"}, false},
		"a default in a list":    {list{object{"a": "b", "c": "d"}}, list{object{"a": "b"}}, true},
		"a longer list":          {list{"a", "b"}, list{"a"}, false},
		"another order":          {list{"b", "a"}, list{"a", "b"}, false},
		"no list":                {nil, list{"a"}, false},
		"nothing for no fields":  {nil, object{}, true},
		"a text for no fields":   {"a", object{}, false},
		"a field that is wanted": {nil, object{"a": "b"}, false},
	} {
		NewWithT(t).Expect(patch.Holds(row.has, row.wanted)).To(Equal(row.holds), name)
	}
}
