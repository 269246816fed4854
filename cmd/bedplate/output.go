package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
)

// addOutputFlag adds the flag -o. A format that there isn't is refused before the command does anything.
func addOutputFlag(command *cobra.Command, output *string) {
	command.Flags().StringVarP(output, "output", "o", "text", "format: text or json")
	command.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains([]string{"text", "json"}, *output) {
			return fmt.Errorf("unknown output format %q: use text or json", *output)
		}
		return nil
	}
}

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
