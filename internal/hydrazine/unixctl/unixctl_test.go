package unixctl

import (
	"context"
	"encoding/json"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// daemon answers calls, and returns its socket.
func daemon(t *testing.T, answer func(method string, params []string) string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hz")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "d.ctl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { connection.Close() })
			var request struct {
				Method string
				Params []string
			}
			if json.NewDecoder(connection).Decode(&request) == nil {
				connection.Write([]byte(answer(request.Method, request.Params)))
			}
		}
	}()
	return listener.Addr().String()
}

func TestCall(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	socket := daemon(t, func(method string, params []string) string {
		if method != "greet" {
			return `{"id":0,"result":null,"error":"\"` + method + `\" is not a valid command\n"}`
		}
		return `{"id":0,"result":"hello ` + params[0] + `","error":null}`
	})
	answer, err := Call(t.Context(), socket, "greet", "DPU")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer).To(Equal("hello DPU"))
	_, err = Call(t.Context(), socket, "dance")
	g.Expect(err).To(MatchError(`call dance: "dance" is not a valid command`))
}

func TestCall_daemonThatHangs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	asked := make(chan struct{})
	socket := daemon(t, func(string, []string) string { close(asked); return "" })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	go func() { <-asked; cancel() }()
	_, err := Call(ctx, socket, "version")
	g.Expect(err).To(MatchError(context.Canceled))
}

func TestCall_nobodyThere(t *testing.T) {
	t.Parallel()
	_, err := Call(t.Context(), filepath.Join(t.TempDir(), "none"), "version")
	NewWithT(t).Expect(err).To(MatchError(fs.ErrNotExist))
}

func TestSocket(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := t.TempDir()
	_, _, err := Socket(dir, "ovn-controller")
	g.Expect(err).To(MatchError(fs.ErrNotExist))
	for content, fine := range map[string]bool{"42\n": true, "": false, "-1": false, "x": false} {
		g.Expect(os.WriteFile(filepath.Join(dir, "ovn-controller.pid"), []byte(content), 0o600)).To(Succeed())
		socket, pid, err := Socket(dir, "ovn-controller")
		g.Expect(err == nil).To(Equal(fine), content)
		if fine {
			g.Expect(socket).To(Equal(filepath.Join(dir, "ovn-controller.42.ctl")))
			g.Expect(pid).To(Equal(42))
		}
	}
}
