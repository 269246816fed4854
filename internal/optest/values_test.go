package optest

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestValues_exceptAFieldWithAllThatIsInIt(t *testing.T) {
	t.Parallel()
	v := values{except: []string{"hooks"}}
	for field, excepted := range map[string]bool{
		"hooks": true, "hooks.early": true, "hooks[].name": true, "hooksOfOthers": false, "other.hooks": false,
	} {
		NewWithT(t).Expect(v.isExcepted(field)).To(Equal(excepted), field)
	}
}
