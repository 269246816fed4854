// Package kubeconfig reads those of Clusters, whether an infrastructure manager has written them or a user.
package kubeconfig

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bedplate/bedplate/internal/apiserver"
)

// Key of a kubeconfig in its Secret: that of Cluster API.
const Key = "value"

// maxSize in bytes. One of the largest clusters has a few KiB.
const maxSize = 256 << 10

// Read a kubeconfig that has exactly one context, cluster and user, and refers to nothing outside itself. The errors repeat nothing of it.
func Read(data []byte) (*rest.Config, error) {
	if len(data) > maxSize {
		return nil, fmt.Errorf("it has more than %d KiB", maxSize>>10)
	}
	all, err := clientcmd.Load(data)
	if err != nil {
		return nil, errors.New("it isn't a kubeconfig")
	}
	if len(all.Contexts) != 1 || len(all.Clusters) != 1 || len(all.AuthInfos) != 1 {
		return nil, fmt.Errorf("it has %d contexts, %d clusters and %d users: leave one of each",
			len(all.Contexts), len(all.Clusters), len(all.AuthInfos))
	}
	return apiserver.Config(data)
}
