package cloudcontroller

import (
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/bedplate/bedplate/internal/localstack/process"
)

// command is the container as a process: its flags and environment, then what a pod has by other means. A pod finds the API
// server and its token in its file system, and has an address of its own.
func (c *controller) command(container *corev1.Container, mounts []mount, kubeconfig string) process.Command {
	var args, env []string
	inPlace := replacer(mounts)
	for _, arg := range container.Args {
		args = append(args, inPlace.Replace(arg))
	}
	for _, variable := range container.Env {
		if variable.ValueFrom != nil {
			c.config.Console.Warn("environment variable has no effect here", "name", variable.Name)
			continue
		}
		env = append(env, variable.Name+"="+inPlace.Replace(variable.Value))
	}
	return process.Command{
		Name: Tool, Path: c.config.Tools.Path(Tool), Log: filepath.Join(c.config.State, Tool+".log"), Env: env,
		Args: append(args,
			"--kubeconfig="+kubeconfig,
			"--authentication-kubeconfig="+kubeconfig,
			"--authorization-kubeconfig="+kubeconfig,
			"--bind-address="+c.config.Address.String(),
			"--insecure-loopback-endpoints", // where the lab's simulators are
		),
	}
}

// replacer writes where a file of the container really is: the process has the computer's file system and not its own.
func replacer(mounts []mount) *strings.Replacer {
	mounts = slices.Clone(mounts)
	slices.SortFunc(mounts, func(a, b mount) int { return len(b.path) - len(a.path) }) // a mount may be within another
	var pairs []string
	for _, m := range mounts {
		pairs = append(pairs, m.path, m.dir)
	}
	return strings.NewReplacer(pairs...)
}
