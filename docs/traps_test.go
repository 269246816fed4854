package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// Each test that a page of traps names is in a file that the row names, and each of these files has one of them.
func TestTraps_haveTheirTests(t *testing.T) {
	t.Parallel()
	for page, base := range map[string]string{
		"bmm-traps.md": "../internal/bmm", "hydrazine-traps.md": "../internal/hydrazine", "powervs-traps.md": "../internal/powervs",
		"krake-traps.md": "../internal/krake", "dpf-traps.md": "../internal/dpf",
	} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			text, err := os.ReadFile(page)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(text)).To(ContainSubstring("`" + strings.TrimPrefix(base, "../") + "/`"))
			rows := regexp.MustCompile(`(?m)^\|([^|]+)\|(?:[^|]*\|)?([^|]*)\|([^|]*)\|$`).FindAllStringSubmatch(string(text), -1)
			checked := 0
			for _, row := range rows {
				names := regexp.MustCompile("`((?:Test|Fuzz)[^`]+)`").FindAllStringSubmatch(row[2], -1)
				files := regexp.MustCompile("`([^`]+_test.go)`").FindAllStringSubmatch(row[3], -1)
				checked += len(names)
				there := ""
				for _, file := range files {
					there += haveOne(g, base, file[1], names)
				}
				for _, name := range names {
					if !regexp.MustCompile(function(name[1])).MatchString(there) {
						t.Errorf("%s isn't in the files that are named for it", name[1])
					}
				}
			}
			g.Expect(checked).To(BeNumerically(">", 50))
		})
	}
}

// haveOne returns the text of the files that a pattern means, which has one of these tests in it.
func haveOne(g Gomega, base, pattern string, names [][]string) string {
	files, err := filepath.Glob(filepath.Join(base, pattern))
	g.Expect(err).NotTo(HaveOccurred())
	if len(files) == 0 {
		files, err = filepath.Glob(filepath.Join("..", pattern))
		g.Expect(err).NotTo(HaveOccurred())
	}
	all := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		all += string(text)
	}
	var functions []string
	for _, name := range names {
		functions = append(functions, function(name[1]))
	}
	one := regexp.MustCompile(strings.Join(functions, "|"))
	g.Expect(one.MatchString(all)).To(BeTrue(), "%s has none of the tests that are named for it", pattern)
	return all
}

// function is the pattern of a test's first line. A name that ends with an ellipsis stands for all with that prefix.
func function(name string) string {
	prefix, several := strings.CutSuffix(name, "…")
	if several {
		return "(?m)^func " + prefix
	}
	return "(?m)^func " + name + `\(`
}
