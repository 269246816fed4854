package docs_test

import (
	_ "embed"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

//go:embed architecture.md
var architecture string

// A newcomer finds every room on the map: those with Go code, in internal down to one level below a system.
func TestHouse_isTheOneOfTheMap(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	named := namedRooms(g)
	for _, room := range named {
		g.Expect("../"+room).To(BeADirectory(), "a room of architecture.md")
	}
	for _, floor := range []string{"api", "cmd", "internal"} {
		g.Expect(fs.WalkDir(os.DirFS(".."), floor, func(room string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			if floor == "internal" && strings.Count(room, "/") > 2 {
				return fs.SkipDir
			}
			code, err := fs.Glob(os.DirFS(".."), room+"/*.go")
			if len(code) > 0 && !slices.Contains(named, room) {
				t.Errorf("architecture.md doesn't name the room %s", room)
			}
			return err
		})).To(Succeed())
	}
}

// namedRooms are the paths of the folders in the map, whose lines begin with two spaces for each folder above.
func namedRooms(g Gomega) (rooms []string) {
	_, house, _ := strings.Cut(architecture, "## The packages\n\n```\n")
	house, _, found := strings.Cut(house, "\n```\n")
	g.Expect(found).To(BeTrue())
	var above []string
	for line := range strings.SplitSeq(house, "\n") {
		words := strings.Fields(line)
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		g.Expect(depth).To(BeNumerically("<=", len(above)), line)
		above = append(above[:depth], words[0])
		for i, name := range words {
			if i > 0 && !strings.HasSuffix(name, "/") {
				break // what the room is for
			}
			rooms = append(rooms, path.Join(path.Join(above[:depth]...), name))
		}
	}
	return rooms
}
