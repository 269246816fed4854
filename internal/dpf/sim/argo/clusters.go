package argo

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// timeout of a call to a cluster.
const timeout = 5 * time.Second

// clusters by their Secrets, as long as these stay as they are.
type clusters struct {
	mu    sync.Mutex
	known map[types.UID]cluster
}

type cluster struct {
	version string
	client.Client
}

// destination of an Application.
func (a *Argo) destination(ctx context.Context, app *unstructured.Unstructured) (client.Client, error) {
	to, _, _ := unstructured.NestedStringMap(app.Object, "spec", "destination")
	if to["server"] == hostServer {
		return a.Client, nil
	}
	var secrets corev1.SecretList
	labels := client.MatchingLabels{"argocd.argoproj.io/secret-type": "cluster"}
	if err := a.List(ctx, &secrets, client.InNamespace(a.Namespace), labels); err != nil {
		return nil, fmt.Errorf("list the cluster secrets: %w", err)
	}
	for i := range secrets.Items {
		if s := &secrets.Items[i]; string(s.Data["name"]) == to["name"] {
			to, err := a.clusters.of(s)
			if err == nil {
				err = to.Get(ctx, client.ObjectKey{Name: "kube-system"}, &corev1.Namespace{})
			}
			if err != nil {
				return nil, fmt.Errorf("failed to get cluster info for %s: %w", s.Name, err)
			}
			return to, nil
		}
	}
	return nil, fmt.Errorf("there are no clusters with this name: %s", to["name"])
}

func (c *clusters) of(secret *corev1.Secret) (client.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.known[secret.UID]; ok && known.version == secret.ResourceVersion {
		return known, nil
	}
	var access struct {
		Username, Password, BearerToken string
		TLSClientConfig                 struct {
			Insecure                  bool
			ServerName                string
			CAData, CertData, KeyData []byte
		}
	}
	if err := json.Unmarshal(secret.Data["config"], &access); err != nil {
		return nil, fmt.Errorf("cluster secret %s: %w", secret.Name, err)
	}
	tls := access.TLSClientConfig
	made, err := client.New(&rest.Config{
		Host: string(secret.Data["server"]), Username: access.Username, Password: access.Password, BearerToken: access.BearerToken,
		Timeout: timeout, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{
			Insecure: tls.Insecure, ServerName: tls.ServerName, CAData: tls.CAData, CertData: tls.CertData, KeyData: tls.KeyData,
		},
	}, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("cluster secret %s: %w", secret.Name, err)
	}
	if c.known == nil {
		c.known = map[types.UID]cluster{}
	}
	c.known[secret.UID] = cluster{secret.ResourceVersion, made}
	return made, nil
}
