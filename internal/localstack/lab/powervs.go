package lab

import (
	"context"
	"fmt"

	"github.com/bedplate/bedplate/internal/localstack"
)

// startPowerVS starts the system powervs, applies an example and waits for its cluster.
func (r *run) startPowerVS(ctx, _ context.Context, stack *localstack.Stack) (*Lab, error) {
	powervs, err := stack.StartPowerVS(ctx)
	if err != nil {
		return nil, err
	}
	lab := r.lab(stack)
	lab.Simulator = powervs.URL
	// In production there is nothing to say about where IBM Cloud is: the example's Secret has only the key, and gets the rest here.
	if err := stack.Client().Create(ctx, powervs.Secret(exampleNamespace, exampleName+"-ibmcloud")); err != nil {
		return nil, fmt.Errorf("make the credentials: %w", err)
	}
	lab.Cluster, err = r.createExample(ctx, stack, powervs.Variables())
	return lab, err
}
