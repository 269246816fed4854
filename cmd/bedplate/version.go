package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/bedplate/bedplate/internal/version"
)

func versionCommand() *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this command",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return printVersion(cmd.OutOrStdout(), output) },
	}
	addOutputFlag(command, &output, "text", "json")
	return command
}

func printVersion(out io.Writer, output string) error {
	if output == "json" {
		return printJSON(out, map[string]string{"version": version.Get(), "go": runtime.Version()})
	}
	_, err := fmt.Fprintln(out, version.Get(), runtime.Version())
	return err
}
