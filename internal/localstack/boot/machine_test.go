package boot

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/process"
)

// log is a buffer for several writers.
type log struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.String()
}

func TestWatch_reportsAProcessThatEndsWithTheEndOfItsLog(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, err := process.Start(process.Command{
		Name: "etcd", Path: "/bin/sh", Args: []string{"-c", "echo no space left; exit 3"}, Log: filepath.Join(t.TempDir(), "etcd.log"),
	})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var said log
	logger := slog.New(slog.NewTextHandler(&said, nil))
	m := &machine{Machine: Machine{ID: "m"}, rack: New(Config{Log: logger}), console: logger}

	m.watch(ctx, []*process.Process{p})
	g.Eventually(said.String).WithTimeout(time.Minute).Should(And(ContainSubstring("etcd ended (exit status 3)"), ContainSubstring("no space left")))
	cancel()
	m.undo()
}
