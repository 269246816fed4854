package lab

import (
	"bytes"
	"os"
	"path/filepath"
)

// bootFailure is the line of a machine's console that says why it did not boot; "" while there is none. Such a machine
// stays as it is, so there is nothing more to wait for.
func bootFailure(dir string) string {
	consoles, err := filepath.Glob(filepath.Join(dir, "machines", "*", "console.log"))
	if err != nil {
		return ""
	}
	for _, console := range consoles {
		log, err := os.ReadFile(console)
		if err != nil {
			continue // the machine was switched off meanwhile
		}
		for line := range bytes.Lines(log) {
			if bytes.Contains(line, []byte("level=ERROR")) {
				return "machine " + filepath.Base(filepath.Dir(console)) + ": " + string(bytes.TrimSpace(line))
			}
		}
	}
	return ""
}
