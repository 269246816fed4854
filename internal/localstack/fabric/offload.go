package fabric

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel's struct ethtool_value, and struct ifreq with a pointer as its data.
type (
	ethtoolValue   struct{ command, data uint32 }
	ethtoolRequest struct {
		name  [unix.IFNAMSIZ]byte
		value unsafe.Pointer
		_     [16]byte
	}
)

// disableChecksumOffload is "ethtool -K NAME tx off". It must run in the link's namespace.
func disableChecksumOffload(name string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("disable checksum offload of %s: %w", name, err)
	}
	defer unix.Close(socket)
	request := ethtoolRequest{value: unsafe.Pointer(&ethtoolValue{command: unix.ETHTOOL_STXCSUM})}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	if errno != 0 {
		return fmt.Errorf("disable checksum offload of %s: %w", name, errno)
	}
	return nil
}
