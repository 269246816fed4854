package proxy_test

import (
	"context"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/stats"

	"github.com/bedplate/bedplate/api/hydrazine/proxy/client"
	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
)

// encodings of answers, as a client hears them. It is a stats.Handler.
type encodings struct {
	mutex sync.Mutex
	heard []string
}

func (*encodings) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*encodings) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*encodings) HandleConn(context.Context, stats.ConnStats)                       {}

func (e *encodings) HandleRPC(_ context.Context, said stats.RPCStats) {
	if header, is := said.(*stats.InHeader); is {
		e.mutex.Lock()
		defer e.mutex.Unlock()
		e.heard = append(e.heard, header.Compression)
	}
}

// What is compressed is another copy of an answer, which gRPC keeps until it is written, and which no limit counts.
func TestAnswers_areNotCompressed(t *testing.T) {
	t.Parallel()
	f, heard := newFixture(t), &encodings{}
	c, err := client.Dial(f.address, f.files(organized(tenant("blue"))), grpc.WithStatsHandler(heard),
		grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	f.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.ResourceGroups.List(t.Context(), &proxyv1.ListRequest{})
	f.Expect(err).NotTo(HaveOccurred())
	stream, err := c.ResourceGroups.Watch(t.Context(), &proxyv1.WatchRequest{})
	f.Expect(err).NotTo(HaveOccurred())
	_, err = stream.Recv()
	f.Expect(err).NotTo(HaveOccurred())
	heard.mutex.Lock()
	defer heard.mutex.Unlock()
	f.Expect(heard.heard).To(And(HaveLen(2), Not(ContainElement(gzip.Name))))
}
