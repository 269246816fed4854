package controller_test

import (
	"fmt"
	"net"
	"sync"
	"testing"
)

// ours is the second number of loopback addresses that no other process has that runs these tests. Its listener says so.
var ours = sync.OnceValues(func() (n int, claim net.Listener) {
	for n = 130; n < 250; n++ {
		claim, err := net.Listen("tcp", fmt.Sprintf("127.%d.255.254:19000", n))
		if err == nil {
			return n, claim
		}
	}
	return n, nil
})

func network(t *testing.T) string {
	t.Helper()
	n, claim := ours()
	if claim == nil {
		t.Fatal("all loopback networks are in use")
	}
	return fmt.Sprintf("127.%d.", n)
}

// loopback is address n of a test.
func (f *fixture) loopback(n int) string {
	f.t.Helper()
	return fmt.Sprintf("%s%d.%d", network(f.t), f.number, n)
}
