//go:build !linux

package process

import "syscall"

// Only Linux can end children together with a killed parent.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
