package publish

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/util/kubeconfig"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/apiserver"
	"github.com/bedplate/bedplate/internal/egress"
)

const (
	callTimeout = apiserver.CallTimeout
	// maxAnswer in bytes. A page of our ConfigMaps is a quarter of it.
	maxAnswer = 256 << 10
)

// connect with the kubeconfig that Cluster API has for a cluster.
func connect(
	ctx context.Context, secrets client.Reader, policy egress.Policy, cluster types.NamespacedName,
) (*workload, error) {
	data, err := kubeconfig.FromSecret(ctx, secrets, cluster)
	if err != nil {
		return nil, &clusterError{fmt.Sprintf("Secret %s-kubeconfig can't be read: Cluster API writes it", cluster.Name), err}
	}
	config, err := apiserver.Config(data)
	if err != nil {
		return nil, &clusterError{fmt.Sprintf("Secret %s-kubeconfig can't be used: %s", cluster.Name, err), err}
	}
	return open(config, policy)
}

// open a client with connections of its own.
func open(config *rest.Config, policy egress.Policy) (*workload, error) {
	api, err := apiserver.Open(config, policy, maxAnswer)
	switch {
	case errors.Is(err, apiserver.ErrCertificates):
		return nil, &clusterError{apiserver.ErrCertificates.Error(), err}
	case err != nil:
		return nil, err
	}
	return &workload{api: api, close: api.Close}, nil
}
