package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
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

// printVersion prints what the Go toolchain recorded: a module version, or the commit of a local build.
func printVersion(out io.Writer, output string) error {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	if output == "json" {
		return printJSON(out, map[string]string{"version": version, "go": runtime.Version()})
	}
	_, err := fmt.Fprintln(out, version, runtime.Version())
	return err
}
