// new-system makes the scaffold of another system from the folder template, where it is called toy, and registers it: see
// docs/new-system.md. Its arguments are the system's name, and optionally what its kinds begin with.
package main

import (
	"embed"
	"errors"
	"fmt"
	"go/format"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed template
var templates embed.FS

func main() {
	name, kind, err := named(os.Args[1:])
	if err == nil {
		err = scaffold(os.DirFS("."), name, kind)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// pattern of a name that is a Go package and a label of DNS.
var pattern = regexp.MustCompile(`^[a-z][a-z0-9]{1,15}$`)

// named reads the arguments.
func named(args []string) (name, kind string, _ error) {
	if len(args) == 0 || len(args) > 2 {
		return "", "", errors.New("say what the system is called: make new-system NAME=toy, or NAME=powervs KIND=PowerVS")
	}
	name = args[0]
	if !pattern.MatchString(name) || token.IsKeyword(name) {
		return "", "", fmt.Errorf("%q can't be the name of a system: it has to be a Go package of 2 to 16 lower case letters and digits", name)
	}
	kind = strings.ToUpper(name[:1]) + name[1:]
	if len(args) == 2 && args[1] != "" {
		kind = args[1]
	}
	if !strings.EqualFold(name, kind) || kind[0] != strings.ToUpper(name)[0] {
		return "", "", fmt.Errorf("KIND=%s isn't the name %q in other letters, of which the first is a capital one", kind, name)
	}
	return name, kind, nil
}

// scaffold writes all files of the system, or none.
func scaffold(repository fs.FS, name, kind string) error {
	for _, folder := range []string{"api/" + name, "internal/" + name, "config/" + name, "examples/" + name, "cmd/" + name + "-manager"} {
		if _, err := fs.Stat(repository, folder); err == nil {
			return fmt.Errorf("%s exists already", folder)
		}
	}
	files, err := rendered(name, kind)
	if err != nil {
		return err
	}
	for path, edit := range registrations {
		text, err := fs.ReadFile(repository, path)
		if err != nil {
			return err
		}
		after, err := edit(string(text), name, kind)
		if err == nil {
			files[path], err = formatted(path, after)
		}
		if err != nil {
			return fmt.Errorf("register the system in %s: %w", path, err)
		}
	}
	for path, content := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as git makes them
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // as git makes them
			return err
		}
	}
	fmt.Printf("%d files: git status shows them\n", len(files))
	return nil
}

// rendered are the template's files, by their paths.
func rendered(name, kind string) (map[string][]byte, error) {
	files := map[string][]byte{}
	replace := strings.NewReplacer("toy", name, "Toy", kind, "TOY", strings.ToUpper(name))
	return files, fs.WalkDir(templates, "template", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := templates.ReadFile(path)
		if err != nil {
			return err
		}
		path = replace.Replace(strings.TrimSuffix(strings.TrimPrefix(path, "template/"), ".tmpl"))
		files[path], err = formatted(path, replace.Replace(string(text)))
		return err
	})
}

// formatted Go code: other names than toy have other lengths, and another place among imports.
func formatted(path, text string) ([]byte, error) {
	if filepath.Ext(path) != ".go" {
		return []byte(text), nil
	}
	code, err := format.Source([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return code, nil
}
