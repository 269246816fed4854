package loopback_test

import (
	"net"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/loopback"
)

func claim(t *testing.T) *loopback.Block {
	t.Helper()
	block, err := loopback.Claim()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(block.Close)
	return block
}

func TestClaim_givesEveryoneABlockOfTheirOwn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	one, two := claim(t), claim(t)
	g.Expect(one.Machines().Overlaps(two.Machines())).To(BeFalse())
	g.Expect(one.Machines().Contains(one.Address(0, 10))).To(BeTrue())
	g.Expect(one.Machines().Contains(one.Address(255, 1))).To(BeFalse())

	listener, err := net.Listen("tcp", net.JoinHostPort(one.Address(3, 4).String(), "6443"))
	g.Expect(err).NotTo(HaveOccurred(), "every address has real ports")
	g.Expect(listener.Close()).To(Succeed())
}

func TestPort_skipsBusyOnes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	block := claim(t)
	first, err := block.Port()
	g.Expect(err).NotTo(HaveOccurred())
	busy, err := net.ListenTCP("tcp", &net.TCPAddr{Port: first + 1})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = busy.Close() })

	second, err := block.Port()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(second).To(Equal(first + 2))
}
