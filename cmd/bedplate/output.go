package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// addOutputFlag adds the flag -o, whose first format is the default. A format that there isn't is refused before the command does anything.
func addOutputFlag(command *cobra.Command, output *string, formats ...string) {
	choice := strings.Join(formats, " or ")
	command.Flags().StringVarP(output, "output", "o", formats[0], "format: "+choice)
	command.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(formats, *output) {
			return fmt.Errorf("unknown output format %q: use %s", *output, choice)
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
