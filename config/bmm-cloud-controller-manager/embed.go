// Package bmmcloudcontrollermanager holds the manifests of the cloud controller manager for programs: tests run it with the
// flags and the rights that it gets in production.
package bmmcloudcontrollermanager

import (
	"embed"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// RBAC is what the cloud controller manager's service account may do.
//
//go:embed rbac/*role*.yaml rbac/*namespace.yaml rbac/service_account.yaml
var RBAC embed.FS

//go:embed manager/manager.yaml
var manager []byte

// DaemonSet is what runs it.
func DaemonSet() (*appsv1.DaemonSet, error) {
	daemonSet := &appsv1.DaemonSet{}
	if err := yaml.UnmarshalStrict(manager, daemonSet); err != nil {
		return nil, fmt.Errorf("read the DaemonSet of the cloud controller manager: %w", err)
	}
	return daemonSet, nil
}
