// Package kubeconfig reads those of Clusters, whether an infrastructure manager has written them or a user.
package kubeconfig

import (
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/bedplate/bedplate/internal/apiserver"
)

// Key of a kubeconfig in its Secret: that of Cluster API.
const Key = "value"

// Read a kubeconfig that has exactly one context, cluster and user, and refers to nothing outside itself. The errors repeat nothing of it.
func Read(data []byte) (*rest.Config, error) {
	all, err := apiserver.Load(data)
	if err != nil {
		return nil, err
	}
	if len(all.Contexts) != 1 || len(all.Clusters) != 1 || len(all.AuthInfos) != 1 {
		return nil, fmt.Errorf("it has %d contexts, %d clusters and %d users: leave one of each",
			len(all.Contexts), len(all.Clusters), len(all.AuthInfos))
	}
	return apiserver.Config(data)
}
