package tag_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/powervs/tag"
)

func TestTag_isReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	tags := tag.Of(graph.Key{Owner: "0123456789ab", Name: "vm", Token: "7f3c"})
	g.Expect(tag.From(append([]string{"team:blue"}, tags...))).To(Equal(graph.Tag{Owner: "0123456789ab", Key: "vm", Token: "7f3c"}))
	g.Expect(tag.From([]string{"Bedplate-Owner:0123456789AB"})).To(Equal(graph.Tag{Owner: "0123456789ab"}), "IBM Cloud ignores case")
	g.Expect(tag.From([]string{"team:blue", "bedplate-owner"})).To(BeZero())
}
