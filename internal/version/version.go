// Package version says which version of Bedplate a program is.
package version

import "runtime/debug"

// released is set by the build of an image, which has no history of Git's: -ldflags "-X …/internal/version.released=v1.2.3".
var released string

// Get returns the version of a release, or what the Go toolchain recorded: a module's version, or the commit of a local build.
func Get() string {
	if released != "" {
		return released
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
