package docs_test

import (
	_ "embed"
	"go/ast"
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

// A controller with controller-runtime's own queue may not end with its manager, in tests, too: see internal/queue.
func TestHouse_hasOneKindOfQueue(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	seen := 0
	for _, floor := range []string{"cmd", "config", "internal", "test"} {
		g.Expect(fs.WalkDir(os.DirFS(".."), floor, func(file string, _ fs.DirEntry, err error) error {
			if err != nil || path.Ext(file) != ".go" {
				return err
			}
			source, err := os.ReadFile("../" + file)
			_, imports, found := strings.Cut(string(source), `"sigs.k8s.io/controller-runtime/pkg/controller"`)
			if err != nil || !found || !strings.Contains(imports, "Options{") {
				return err
			}
			ast.Inspect(parse(g, "../"+file), func(n ast.Node) bool {
				literal, is := n.(*ast.CompositeLit)
				if !is || !isControllerOptions(literal.Type) {
					return true
				}
				seen++
				if !slices.ContainsFunc(literal.Elts, func(e ast.Expr) bool {
					pair, is := e.(*ast.KeyValueExpr)
					return is && pair.Key.(*ast.Ident).Name == "NewQueue"
				}) {
					t.Errorf("%s: the options of a controller have no NewQueue: queue.New", file)
				}
				return true
			})
			return nil
		})).To(Succeed())
	}
	g.Expect(seen).To(BeNumerically(">", 10))
}

func isControllerOptions(e ast.Expr) bool {
	kind, is := e.(*ast.SelectorExpr)
	if !is || kind.Sel.Name != "Options" {
		return false
	}
	of, is := kind.X.(*ast.Ident)
	return is && (of.Name == "controller" || of.Name == "ctrlcontroller")
}
