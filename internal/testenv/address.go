package testenv

import (
	"errors"
	"math/rand/v2"
	"net"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
)

// FreeAddress of host that nothing listens at. Its port is below those that the kernel gives to connections, so that none of them
// has it by the time it is listened at.
func FreeAddress(t testing.TB, host net.IP) *net.TCPAddr {
	t.Helper()
	const lowest, ephemeral = 10_000, 32_768
	for {
		address := &net.TCPAddr{IP: host, Port: lowest + rand.IntN(ephemeral-lowest)}
		free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address.String())
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(free.Close()).To(Succeed())
		return address
	}
}
