package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/gomega"
)

// constants returns the values of the string constants of a file whose names match.
func constants(g Gomega, file string, name *regexp.Regexp) (values []string) {
	for _, declaration := range parse(g, file).Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok || general.Tok != token.CONST {
			continue
		}
		for _, spec := range general.Specs {
			constant := spec.(*ast.ValueSpec)
			for i, id := range constant.Names {
				if value, ok := text(constant.Values[i]); ok && name.MatchString(id.Name) {
					values = append(values, value)
				}
			}
		}
	}
	return values
}

// reasonsGiven returns those of the engine and of all its users.
func reasonsGiven(g Gomega) []string {
	return reasonsIn(g, "../internal/graph", "../internal/graph/decide", "../internal/graph/phases",
		"../internal/bmm/actuator", "../internal/bmm/cluster", "../internal/bmm/instance", "../internal/bmm/machine")
}

// reasonsIn returns the reasons that the code of some packages gives to conditions, if they are literals.
func reasonsIn(g Gomega, packages ...string) []string {
	reasons := map[string]bool{}
	note := func(e ast.Expr) {
		if reason, ok := text(e); ok {
			reasons[reason] = true
		}
	}
	for _, dir := range packages {
		files, err := filepath.Glob(dir + "/*.go")
		g.Expect(err).NotTo(HaveOccurred())
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			ast.Inspect(parse(g, file), func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if called, ok := n.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "Because" {
						note(n.Args[0])
					}
				case *ast.KeyValueExpr:
					if field, ok := n.Key.(*ast.Ident); ok && field.Name == "Reason" {
						note(n.Value)
					}
				}
				return true
			})
		}
	}
	return slices.Collect(maps.Keys(reasons))
}

func parse(g Gomega, file string) *ast.File {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	g.Expect(err).NotTo(HaveOccurred())
	return parsed
}

// text is the value of a string literal.
func text(e ast.Expr) (string, bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(literal.Value)
	return value, err == nil
}
