package lab

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestDefaultDir_followsTheXDGBaseDirectories(t *testing.T) {
	g := NewWithT(t)

	t.Setenv("XDG_STATE_HOME", "/state")
	t.Setenv("HOME", "/home/ada")
	g.Expect(DefaultDir()).To(Equal("/state/bedplate/lab"))
	t.Setenv("XDG_STATE_HOME", "")
	g.Expect(DefaultDir()).To(Equal("/home/ada/.local/state/bedplate/lab"))
	t.Setenv("HOME", "")
	t.Setenv("TMPDIR", "/scratch")
	g.Expect(DefaultDir()).To(HavePrefix("/scratch/bedplate-lab-"))
}

func TestCreateFolder_removesTheParentsItCreatedAtTheEnd(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	base := t.TempDir()

	f, err := createFolder(filepath.Join(base, "state", "bedplate", "lab"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(filepath.Join(f.dir, "kubeconfig"), nil, 0o600)).To(Succeed())
	g.Expect(f.remove()).To(Succeed())
	g.Expect(os.ReadDir(base)).To(BeEmpty())
}

func TestCreateFolder_keepsAParentThatSomeoneElseUses(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	base := t.TempDir()

	f, err := createFolder(filepath.Join(base, "state", "bedplate", "lab"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(filepath.Join(base, "state", "other"), nil, 0o600)).To(Succeed())
	g.Expect(f.remove()).To(Succeed())
	g.Expect(filepath.Join(base, "state", "other")).To(BeAnExistingFile())
	g.Expect(filepath.Join(base, "state", "bedplate")).NotTo(BeADirectory())
}

func TestCreateFolder_namesTheOwnerOfALockedFolder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := t.TempDir()

	f, err := createFolder(dir)
	g.Expect(err).NotTo(HaveOccurred())
	f.owner.PID = 4711
	g.Expect(f.writeOwner()).To(Succeed())
	precious := filepath.Join(dir, "kubeconfig")
	g.Expect(os.WriteFile(precious, nil, 0o600)).To(Succeed())

	_, err = createFolder(dir)
	g.Expect(err).To(MatchError(&RunningError{Dir: dir, PID: 4711}))
	g.Expect(err).To(MatchError(ContainSubstring("pid 4711")))
	g.Expect(precious).To(BeAnExistingFile(), "the running lab is untouched")
	g.Expect(f.remove()).To(Succeed())
}

func TestCreateFolder_clearsWhatAKilledLabLeft(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	base := t.TempDir()
	dir := filepath.Join(base, "lab")

	killed, err := createFolder(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.MkdirAll(filepath.Join(dir, "management", "etcd"), 0o700)).To(Succeed())
	g.Expect(killed.lock.Close()).To(Succeed(), "as the kernel does")

	f, err := createFolder(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(filepath.Join(dir, "management")).NotTo(BeADirectory())
	g.Expect(f.owner.PID).To(BeZero())
	g.Expect(f.remove()).To(Succeed())
}

func TestCreateFolder_refusesAFolderWithOtherThings(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := t.TempDir()
	thesis := filepath.Join(dir, "thesis.tex")
	g.Expect(os.WriteFile(thesis, nil, 0o600)).To(Succeed())

	_, err := createFolder(dir)
	g.Expect(err).To(MatchError(ContainSubstring("holds files that are not a lab's")))
	g.Expect(os.ReadDir(dir)).To(HaveLen(1))
}

func TestCreateFolder_saysWhyAFolderCantBeMade(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "file")
	g.Expect(os.WriteFile(file, nil, 0o600)).To(Succeed())

	_, err := createFolder(filepath.Join(file, "lab"))
	g.Expect(err).To(MatchError(And(ContainSubstring("create the lab's folder"), ContainSubstring("not a directory"))))
}

func TestDown_doesNothingWhereThereIsNoLab(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := t.TempDir()
	thesis := filepath.Join(dir, "thesis.tex")
	g.Expect(os.WriteFile(thesis, nil, 0o600)).To(Succeed())

	g.Expect(Down(t.Context(), dir)).To(BeFalse())
	g.Expect(thesis).To(BeAnExistingFile())
}

func TestDown_removesWhatAKilledLabLeft(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	base := t.TempDir()

	killed, err := createFolder(filepath.Join(base, "state", "lab"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(filepath.Join(killed.dir, "kubeconfig"), nil, 0o600)).To(Succeed())
	g.Expect(killed.lock.Close()).To(Succeed(), "as the kernel does")

	g.Expect(Down(t.Context(), killed.dir)).To(BeTrue())
	g.Expect(os.ReadDir(base)).To(BeEmpty())
}
