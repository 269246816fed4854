package dpucluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/apiserver"
	"github.com/bedplate/bedplate/internal/egress"
)

// Look finds the clusters once, for a program that doesn't stay: without caches, and without asking whether they answer. They are in the
// order of their Secrets. The caller calls done when their clients aren't used any more.
func Look(ctx context.Context, host client.Reader, scheme *runtime.Scheme, policy egress.Policy) (all []Cluster, done func(), _ error) {
	secrets := &corev1.SecretList{}
	if err := host.List(ctx, secrets, kubeconfigs); err != nil {
		return nil, nil, fmt.Errorf("list the kubeconfigs of DPU clusters: %w", err)
	}
	var ends []func()
	seen := map[types.NamespacedName]bool{}
	for i := range secrets.Items {
		secret := &secrets.Items[i]
		name := nameOf(secret)
		if seen[name] || name.Name == "" || secret.DeletionTimestamp != nil {
			continue
		}
		refusal, err := (&Clusters{live: host}).refusal(ctx, secret)
		if refusal != nil {
			continue
		}
		seen[name] = true
		cluster := Cluster{Name: name, Labels: secret.Labels, Err: err}
		if err == nil {
			var end func()
			if cluster.Client, end, cluster.Err = connect(secret.Data[KubeconfigKey], scheme, policy); end != nil {
				ends = append(ends, end)
			}
		}
		all = append(all, cluster)
	}
	return all, func() {
		for _, end := range ends {
			end()
		}
	}, nil
}

func connect(kubeconfig []byte, scheme *runtime.Scheme, policy egress.Policy) (_ client.Client, end func(), _ error) {
	config, err := read(kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	access, end, err := apiserver.Access(config, policy, maxAnswer)
	if err != nil {
		return nil, nil, err
	}
	own := rest.CopyConfig(access)
	own.Timeout = apiserver.CallTimeout
	calls, err := apiserver.HTTP(own)
	if err != nil {
		return nil, end, err
	}
	c, err := client.New(own, client.Options{HTTPClient: calls, Scheme: scheme})
	if err != nil {
		return nil, end, fmt.Errorf("make the client of an API server: %w", silent(err))
	}
	return c, end, nil
}
