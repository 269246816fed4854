package central

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// A manager that is stopped, or a computer that is busy, says nothing about a database.
func TestDaemon_whoseStartIsCutOffKeepsItsDatabase(t *testing.T) {
	t.Parallel()
	toolstest.Programs(t, "ovn-northd")
	g, dir := NewWithT(t), t.TempDir()
	d := daemons(dir, NewProcesses(t.Context(), dir, loopback).Schemas)[0]
	g.Expect(run(t.Context(), startTime, "ovsdb-tool", "create", d.database, d.schema)).To(Succeed())
	d.command = []string{"sleep", "100"}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	g.Expect(d.ensure(ctx, func() error { return nil })).To(MatchError(ContainSubstring("sleep: ")))
	g.Expect(filepath.Glob(filepath.Join(dir, "*.damaged"))).To(BeEmpty())
	_, err := os.Stat(d.database)
	g.Expect(err).NotTo(HaveOccurred())
}
