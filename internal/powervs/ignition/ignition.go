// Package ignition makes what a virtual machine that boots with Ignition gets as user data. Its bootstrap data is too large and too
// secret for that: it lies in a bucket, and the user data says where.
package ignition

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Stub is an Ignition configuration that adds the one at a URL. Version is that of the configuration, such as 2.3 or 3.4.
func Stub(version, url string) ([]byte, error) {
	type source struct {
		Source string `json:"source"`
	}
	var config map[string]any
	switch major, _, _ := strings.Cut(version, "."); major {
	case "2":
		config = map[string]any{"append": []source{{url}}}
	case "3":
		config = map[string]any{"merge": []source{{url}}}
	default:
		return nil, fmt.Errorf("unknown version %q of Ignition: it must begin with 2 or 3", version)
	}
	return json.Marshal(map[string]any{"ignition": map[string]any{"version": version + ".0", "config": config}})
}
