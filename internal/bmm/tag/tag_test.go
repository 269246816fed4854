package tag_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/graph"
)

func TestLabels_carryTheTagBesideTheUsersOwn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	key := graph.Key{Owner: "0123456789ab", Name: "vpc", Token: "t"}
	labels := tag.Labels(map[string]string{"team": "red", "bedplate-owner": "a cheat"}, key)
	g.Expect(labels).To(HaveKeyWithValue("team", "red"))
	g.Expect(tag.FromLabels(labels)).To(Equal(graph.Tag{Owner: "0123456789ab", Key: "vpc", Token: "t"}))
	g.Expect(tag.FromLabels(nil)).To(Equal(graph.Tag{}))
}

func TestKept_putsTheTagBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	key := graph.Key{Owner: "0123456789ab", Name: "vpc", Token: "t"}
	labels := tag.Kept(map[string]string{"team": "red"}, key, map[string]string{"bedplate-token": "older", "bedplate-owner": "another"})
	g.Expect(labels).To(HaveKeyWithValue("team", "red"))
	g.Expect(tag.FromLabels(labels)).To(Equal(graph.Tag{Owner: "0123456789ab", Key: "vpc", Token: "older"}))
}

func TestName_carriesTheTagWhereThereAreNoLabels(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	name := tag.Name(graph.Key{Owner: "0123456789ab", Name: "subnet/storage-a"})
	g.Expect(name).To(Equal("storage-a-0123456789ab"))
	g.Expect(tag.FromName("subnet", name)).To(Equal(graph.Tag{Owner: "0123456789ab", Key: "subnet/storage-a"}))
	for _, name := range []string{"theirs", "their-own", "storage-a-0123456789AB", "storage-a-0123456789abc"} {
		g.Expect(tag.FromName("subnet", name)).To(Equal(graph.Tag{}), name)
	}
}
