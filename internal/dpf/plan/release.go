package plan

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
)

// operatorName of the Deployment in config/dpf/manager.
const operatorName = "bedplate-dpf-manager"

// release that the operator deploys, by its flags, with the defaults of this program.
func release(ctx context.Context, c client.Reader) (components.Release, error) {
	r := components.Release{Registry: components.DefaultRegistry, Charts: components.DefaultCharts, Version: components.Version()}
	operator := &appsv1.Deployment{}
	err := c.Get(ctx, client.ObjectKey{Namespace: operatorv1.Namespace, Name: operatorName}, operator)
	if apierrors.IsNotFound(err) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("read the flags of the operator: %w", err)
	}
	for _, container := range operator.Spec.Template.Spec.Containers {
		for _, variable := range container.Env {
			if variable.Name == components.SourceReposVariable {
				r.SourceRepos = variable.Value
			}
		}
		for _, arg := range container.Args {
			for flag, field := range map[string]*string{
				"--image-registry=": &r.Registry, "--chart-registry=": &r.Charts, "--components-version=": &r.Version,
				"--service-source-repos=": &r.SourceRepos,
			} {
				if value, is := strings.CutPrefix(arg, flag); is {
					*field = value
				}
			}
		}
	}
	return r, nil
}
