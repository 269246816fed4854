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

// notALabs makes folders that no lab has made, though each has a file with the name of a lab's lock.
func notALabs(t *testing.T) map[string]string {
	t.Helper()
	g := NewWithT(t)
	elsewhere := filepath.Join(t.TempDir(), "settings.json")
	g.Expect(os.WriteFile(elsewhere, []byte(`{"pid":0}`), 0o600)).To(Succeed())
	dirs := map[string]string{}
	for name, lock := range map[string]func(string) error{
		"an empty lock":         func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"another program's":     func(path string) error { return os.WriteFile(path, []byte("4711\n"), 0o600) },
		"other JSON":            func(path string) error { return os.WriteFile(path, []byte(`{"pid":1,"host":"a"}`), 0o600) },
		"JSON that says nought": func(path string) error { return os.WriteFile(path, []byte(`{}`), 0o600) },
		"a link":                func(path string) error { return os.Symlink(elsewhere, path) },
		"a folder":              func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		dirs[name] = t.TempDir()
		g.Expect(lock(filepath.Join(dirs[name], lockName))).To(Succeed())
		g.Expect(os.Mkdir(filepath.Join(dirs[name], "logs"), 0o700)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(dirs[name], "logs", "precious"), nil, 0o600)).To(Succeed())
	}
	return dirs
}

func TestFolder_thatNoLabHasMadeIsLeftAlone(t *testing.T) {
	t.Parallel()
	for command, try := range map[string]func(dir string) error{
		"up": func(dir string) error { _, err := createFolder(dir); return err },
		"down": func(dir string) error {
			found, err := Down(t.Context(), dir)
			NewWithT(t).Expect(found).To(BeFalse())
			return err
		},
	} {
		for name, dir := range notALabs(t) {
			t.Run(command+" "+name, func(t *testing.T) {
				g := NewWithT(t)
				g.Expect(try(dir)).To(MatchError(ContainSubstring("holds files that are not a lab's")))
				g.Expect(filepath.Join(dir, "logs", "precious")).To(BeAnExistingFile())
				g.Expect(os.ReadDir(dir)).To(HaveLen(2))
			})
		}
	}
}

// killedLab leaves the folder of a lab that was killed, with a file of the user's in it, and the lock's content.
func killedLab(t *testing.T, lock string) (dir, precious string) {
	t.Helper()
	g := NewWithT(t)
	killed, err := createFolder(filepath.Join(t.TempDir(), "lab"))
	g.Expect(err).NotTo(HaveOccurred())
	precious = filepath.Join(killed.dir, "notes.txt")
	for _, file := range []string{precious, filepath.Join(killed.dir, "kubeconfig"), filepath.Join(killed.dir, logName)} {
		g.Expect(os.WriteFile(file, nil, 0o600)).To(Succeed())
	}
	if lock != "" {
		g.Expect(os.WriteFile(killed.lock.Name(), []byte(lock), 0o600)).To(Succeed())
	}
	g.Expect(killed.lock.Close()).To(Succeed(), "as the kernel does")
	return killed.dir, precious
}

func TestDown_removesOnlyWhatALabMakesAndNamesTheRest(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]string{"now": "", "of an older version": `{"pid":4194305,"createdParents":["/nowhere"]}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			dir, precious := killedLab(t, lock)
			found, err := Down(t.Context(), dir)
			g.Expect(found).To(BeTrue())
			g.Expect(err).To(MatchError(&ForeignError{Dir: dir, Names: []string{"notes.txt"}}))
			g.Expect(precious).To(BeAnExistingFile())
			g.Expect(os.ReadDir(dir)).To(HaveLen(1))
		})
	}
}

// The supervisor removes its folder itself when it is asked to end.
func TestDown_namesWhatTheSupervisorLeft(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	running, err := createFolder(t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	precious := filepath.Join(running.dir, "notes.txt")
	g.Expect(os.WriteFile(precious, nil, 0o600)).To(Succeed())
	down, err := openLock(running.dir, os.O_RDWR)
	g.Expect(err).NotTo(HaveOccurred())
	left := MatchError(&ForeignError{Dir: running.dir, Names: []string{"notes.txt"}})
	g.Expect(running.remove()).To(left)
	found, err := down.end(t.Context())
	g.Expect(found).To(BeTrue())
	g.Expect(err).To(left)
	g.Expect(precious).To(BeAnExistingFile())
}

func TestCreateFolder_refusesAKilledLabsFolderWithTheUsersFiles(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir, precious := killedLab(t, "")
	_, err := createFolder(dir)
	g.Expect(err).To(MatchError(&ForeignError{Dir: dir, Names: []string{"notes.txt"}}))
	g.Expect(precious).To(BeAnExistingFile())
	g.Expect(filepath.Join(dir, "kubeconfig")).To(BeAnExistingFile(), "a refusal removes nothing")
	g.Expect(os.Remove(precious)).To(Succeed())
	f, err := createFolder(dir)
	g.Expect(err).NotTo(HaveOccurred(), "the lock is free, and still says whose it is")
	g.Expect(f.remove()).To(Succeed())
}

func TestFolder_thatIsALinkIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	killed, err := createFolder(t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(killed.lock.Close()).To(Succeed())
	link := filepath.Join(t.TempDir(), "link")
	g.Expect(os.Symlink(killed.dir, link)).To(Succeed())
	_, err = Down(t.Context(), link)
	g.Expect(err).To(MatchError(ContainSubstring("is a symbolic link")))
	_, err = createFolder(link)
	g.Expect(err).To(MatchError(ContainSubstring("is a symbolic link")))
	g.Expect(filepath.Join(link, lockName)).To(BeAnExistingFile())
}

func TestDown_removesLinksAndNotWhatTheyLeadTo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	base, precious := t.TempDir(), filepath.Join(t.TempDir(), "precious")
	g.Expect(os.WriteFile(precious, nil, 0o600)).To(Succeed())
	killed, err := createFolder(filepath.Join(base, "lab"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.Symlink(filepath.Dir(precious), filepath.Join(killed.dir, "logs"))).To(Succeed())
	g.Expect(killed.lock.Close()).To(Succeed())
	g.Expect(Down(t.Context(), killed.dir)).To(BeTrue())
	g.Expect(precious).To(BeAnExistingFile())
	g.Expect(os.ReadDir(base)).To(BeEmpty())
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
