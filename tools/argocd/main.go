// argocd is the two parts of Argo CD that sync Applications, as they are: the application controller and the repo server. Argo CD's own
// program has all others besides, which doubles what has to be compiled.
package main

import (
	"os"

	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/spf13/cobra"
)

func main() {
	command := &cobra.Command{Use: "argocd", SilenceUsage: true}
	command.AddCommand(controller.NewCommand(), reposerver.NewCommand())
	if command.Execute() != nil {
		os.Exit(1)
	}
}
