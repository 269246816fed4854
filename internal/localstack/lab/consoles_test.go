package lab

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestBootFailure_isTheLineThatSaysWhy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(bootFailure(dir)).To(BeEmpty())
	g.Expect(os.MkdirAll(filepath.Join(dir, "machines", "m-1"), 0o700)).To(Succeed())
	console := filepath.Join(dir, "machines", "m-1", "console.log")
	g.Expect(os.WriteFile(console, []byte("level=INFO msg=x\n"), 0o600)).To(Succeed())
	g.Expect(bootFailure(dir)).To(BeEmpty())
	g.Expect(os.WriteFile(console, []byte("level=INFO msg=x\nlevel=ERROR msg=\"boot stopped\" error=why\n"), 0o600)).To(Succeed())
	g.Expect(bootFailure(dir)).To(Equal(`machine m-1: level=ERROR msg="boot stopped" error=why`))
}
