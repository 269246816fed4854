package tosca

import (
	"fmt"
	"iter"
	"net/url"
	"strings"
	"unicode"
)

// files that the infrastructure manager reads for a template beside what is imported: implementations of operations, artifacts, and what
// is in repositories. Any part of a template may have them, and each type that it defines.
func files(value any) (all []string) {
	for key, item := range items(value) {
		all = append(all, files(item)...)
		switch key {
		case "implementation", "artifacts", "interfaces": // an operation may be its implementation alone
			all = append(all, texts(item, named)...)
		case "repositories":
			for _, where := range texts(item, named) { // what is in one is read from there
				all = append(all, strings.TrimRight(where, "/ ")+"/")
			}
		}
	}
	return all
}

// named is how many levels of a value may name a file. On the first one are names of a user's own choice.
const named = 2

// texts in a value, and so many levels below, but for those that name no file.
func texts(value any, below int) (all []string) {
	if text, is := value.(string); is {
		return []string{text}
	}
	if list, is := value.([]any); is {
		for _, item := range list {
			all = append(all, texts(item, below)...)
		}
		return all
	}
	for key, item := range items(value) {
		if below == named || below > 0 && key != "type" && key != "description" && key != "deploy_path" && key != "inputs" {
			all = append(all, texts(item, below-1)...)
		}
	}
	return all
}

// items of a mapping or of a list, whose keys are numbers.
func items(value any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		switch value := value.(type) {
		case map[string]any:
			for key, item := range value {
				if !yield(key, item) {
					return
				}
			}
		case map[any]any: // one with keys that aren't texts
			for key, item := range value {
				if !yield(fmt.Sprint(key), item) {
					return
				}
			}
		case []any:
			for i, item := range value {
				if !yield(fmt.Sprint(i), item) {
					return
				}
			}
		}
	}
}

// isRead says whether the infrastructure manager would read a file from its own disk, or from another server. What is named otherwise is in
// its own folder, or is a role or an image, which only machines get.
func isRead(file string) bool {
	file = strings.ToLower(strings.Map(func(r rune) rune { // as Python does with what is a URL
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return -1
		}
		return r
	}, file))
	if plain, err := url.PathUnescape(file); err == nil { // %2e is a dot
		file = plain
	}
	scheme, _, _ := strings.Cut(file, ":")
	switch scheme {
	case "http", "https", "ftp", "file":
		return true
	}
	return strings.HasPrefix(file, "/") || strings.Contains("/"+file+"/", "/../")
}
