package cluster

import (
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// phaseOf is the phase of a resource whose status has the values that the BMM API uses for nearly all kinds. Only that of
// a usable resource differs.
func phaseOf[S ~string](kind, name, id string, status, ready S) phases.Phase {
	switch status {
	case ready:
		return phases.Ready()
	case "Deleting":
		return phases.Deleting()
	case "Error":
		return phases.Failed("the BMM API reports %s %s (%s) as Error: ask the site's operator", kind, name, id)
	}
	return phases.Waiting("%s %s (%s) is %s", kind, name, id, status)
}
