package manifest_test

import (
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/manifest"
)

func TestDecode_skipsEmptyDocumentsAndCountsBrokenOnes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	objects, err := manifest.Decode([]byte("# nothing\n---\nkind: Namespace\n---\n---\nkind: Secret\n"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).To(HaveLen(2))
	_, err = manifest.Decode([]byte("kind: Namespace\n---\n{"))
	g.Expect(err).To(MatchError(ContainSubstring("document 2")))
}

func TestDecodeAll_leavesOutWhatIsKustomizes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	files := fstest.MapFS{
		"rbac/kustomization.yaml": {Data: []byte("resources: [role.yaml]")},
		"rbac/role.yaml":          {Data: []byte("kind: Role\n---\nkind: RoleBinding\n")},
	}
	objects, err := manifest.DecodeAll(files)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).To(HaveExactElements(
		HaveField("GetKind()", "Role"), HaveField("GetKind()", "RoleBinding")))
	files["rbac/role.yaml"].Data = []byte("{")
	_, err = manifest.DecodeAll(files)
	g.Expect(err).To(MatchError(ContainSubstring("rbac/role.yaml: document 1")))
}
