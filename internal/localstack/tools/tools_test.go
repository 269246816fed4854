package tools_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/tools"
)

func TestFind_prefersTheFlagToTheEnvironmentToTheModulesBin(t *testing.T) {
	g := NewWithT(t)
	flag, env, module := t.TempDir(), t.TempDir(), t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(module, "go.mod"), nil, 0o600)).To(Succeed())
	deep := filepath.Join(module, "internal", "deep")
	g.Expect(os.MkdirAll(deep, 0o700)).To(Succeed())
	t.Chdir(deep)

	t.Setenv(tools.EnvVar, env)
	g.Expect(tools.Find(flag)).To(Equal(tools.Dir(flag)))
	g.Expect(tools.Find("")).To(Equal(tools.Dir(env)))

	t.Setenv(tools.EnvVar, "")
	_, err := tools.Find("")
	g.Expect(err).To(MatchError(ContainSubstring(`run "make tools"`)))
	g.Expect(os.Mkdir(filepath.Join(module, "bin"), 0o700)).To(Succeed())
	g.Expect(tools.Find("")).To(Equal(tools.Dir(filepath.Join(module, "bin"))))
}

func TestRequire_namesAllThatIsMissing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := tools.Dir(t.TempDir())
	g.Expect(os.WriteFile(dir.Path("etcd"), nil, 0o700)).To(Succeed())

	g.Expect(dir.Require("etcd")).To(Succeed())
	g.Expect(dir.Require("etcd", "kwok", "kubectl")).To(MatchError(And(
		ContainSubstring("kwok, kubectl"), ContainSubstring(`run "make tools"`))))
}
