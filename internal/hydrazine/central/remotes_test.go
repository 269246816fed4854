package central

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/hydrazine/unixctl"
)

// A server that an older manager has opened meanwhile isn't open any more when this one is back.
func TestEnsure_closesWhatAnotherHasOpened(t *testing.T) {
	t.Parallel()
	p, g := start(t, 17190)
	_, err := p.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	control := filepath.Join(p.Dir, "blue", "sb.ctl")
	remotes := func() (string, error) { return unixctl.Call(t.Context(), control, "ovsdb-server/list-remotes") }
	before, err := remotes()
	g.Expect(err).NotTo(HaveOccurred())
	_, err = unixctl.Call(t.Context(), control, "ovsdb-server/add-remote", "ptcp:17195:127.0.0.1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(remotes()).To(ContainSubstring("ptcp:17195"))
	_, err = p.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(remotes()).To(Equal(before))
}
