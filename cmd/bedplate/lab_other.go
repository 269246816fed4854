//go:build !linux

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// labCommand says why there is none. A lab needs the loopback addresses and the namespaces of Linux.
func labCommand(catalogue) *cobra.Command {
	return &cobra.Command{
		Use:   "lab",
		Short: "Run a management cluster with simulated machines on this computer, which needs Linux",
		RunE:  func(*cobra.Command, []string) error { return errors.New("a lab needs Linux") },
	}
}

func simulateBMMCommand() *cobra.Command { return nil }

func simulateIBMCloudCommand() *cobra.Command { return nil }

func simulateIMCommand() *cobra.Command { return nil }

func simulateOpenShiftCommand() *cobra.Command { return nil }

func canRunOverlay() error { return errors.New("a lab needs Linux") }
