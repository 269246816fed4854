package dpuservice

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

// CheckRepos says which of the patterns of a flag would permit more to Argo CD than to a reader.
//
// A pattern with a ! permits all other repositories, whatever the rest of the list says. One of registries of any host permits all of Git,
// too, since the URL of a registry has no scheme there. And what can't be parsed is compared as the empty
// text, so that such a pattern permits each repository that can't be parsed, either.
func CheckRepos(flag string, patterns []string) error {
	for _, pattern := range patterns {
		problem := ""
		switch {
		case pattern == "" || strings.ContainsAny(pattern, " \t\n"):
			problem = "give patterns of URLs, with commas between them"
		case strings.HasPrefix(pattern, "!"):
			problem = "Argo CD would permit all other repositories: give those that are permitted"
		case ofAnyHost(pattern):
			problem = "Argo CD would permit repositories of all kinds and hosts: give the registry's host, or * alone"
		}
		for _, spelling := range spellings(pattern) {
			if _, err := url.Parse(spelling); err != nil && problem == "" {
				problem = "Argo CD can't parse it: give the URL with a name as its host"
			}
		}
		if problem != "" {
			return fmt.Errorf("--%s %q: %s", flag, pattern, problem)
		}
	}
	return nil
}

// spellings of a pattern that Argo CD compares: it finds the registry of a chart by its URL without a scheme.
func spellings(pattern string) []string {
	if registry, is := strings.CutPrefix(pattern, "oci://"); is {
		return []string{registry, pattern}
	}
	return []string{pattern}
}

// ofAnyHost says that a pattern of registries is one of everything without its scheme: where that was, it also matches https:.
func ofAnyHost(pattern string) bool {
	registry, is := strings.CutPrefix(pattern, "oci://")
	host, _, _ := strings.Cut(registry, "/")
	all, err := path.Match(host, "https:")
	return is && (all || err != nil || strings.Contains(host, "**"))
}

// sourceRepos of the projects.
func (c Config) sourceRepos() []any {
	repos := []any{}
	for _, pattern := range c.SourceRepos {
		for _, spelling := range spellings(pattern) {
			repos = append(repos, spelling)
		}
	}
	return repos
}
