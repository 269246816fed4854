package proxy

import (
	"bytes"
	"context"
	"errors"
	"net"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/evict"
)

// sent is what a client has sent, which comes in pieces of a size.
type sent struct {
	net.Conn
	data  *bytes.Buffer
	piece int
}

func (s sent) Read(into []byte) (int, error) { return s.data.Read(into[:min(len(into), s.piece)]) }

func TestFrames_areCountedHoweverTheyCome(t *testing.T) {
	t.Parallel()
	call := func(f *http2.Framer, stream uint32) {
		NewWithT(t).Expect(f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: make([]byte, 300), EndHeaders: true})).To(Succeed())
	}
	data := func(f *http2.Framer, n, size int, end bool) {
		for range n {
			NewWithT(t).Expect(f.WriteData(1, end, make([]byte, size))).To(Succeed())
		}
	}
	for name, c := range map[string]struct {
		write   func(f *http2.Framer)
		refused bool
	}{
		"calls, each in a piece and an end": {func(f *http2.Framer) {
			for n := range uint32(2000) {
				call(f, 2*n+1)
				data(f, 1, 20, false)
				data(f, 1, 0, true)
			}
		}, false},
		"large pieces":         {func(f *http2.Framer) { data(f, 2000, 256, false) }, false},
		"ends":                 {func(f *http2.Framer) { data(f, 2000, 1, true) }, false},
		"as many as there may": {func(f *http2.Framer) { data(f, maxPieces, 255, false) }, false},
		"one more":             {func(f *http2.Framer) { data(f, maxPieces+1, 255, false) }, true},
		"saved up":             {func(f *http2.Framer) { call(f, 1); data(f, maxPieces+1, 1, false) }, true},
		"more with a call":     {func(f *http2.Framer) { data(f, maxPieces, 1, false); call(f, 1); data(f, piecesOfCall, 1, false) }, false},
		"small ones that are padded": {func(f *http2.Framer) {
			for range maxPieces + 1 {
				NewWithT(t).Expect(f.WriteDataPadded(1, false, []byte{1}, make([]byte, 255))).To(Succeed())
			}
		}, true},
	} {
		for _, piece := range []int{1, 7, 1 << 20} {
			stream := &bytes.Buffer{}
			stream.WriteString(http2.ClientPreface)
			f := http2.NewFramer(stream, nil)
			f.AllowIllegalWrites = true
			NewWithT(t).Expect(f.WriteSettings()).To(Succeed())
			c.write(f)
			all := &frames{Conn: sent{data: stream, piece: piece}, metrics: NewMetrics(), skip: len(http2.ClientPreface), pieces: maxPieces}
			var err error
			for into := make([]byte, 4096); err == nil; {
				_, err = all.Read(into)
			}
			NewWithT(t).Expect(errors.Is(err, errPieces)).To(Equal(c.refused), "%s, %d", name, piece)
		}
	}
}

func TestCodec_refusesMoreValuesThanAnObjectHas(t *testing.T) {
	t.Parallel()
	g, spec := NewWithT(t), &proxyv1.ResourceGroupSpec{}
	of := func(rules int) error {
		spec.SecurityGroups = []*proxyv1.SecurityGroup{{Rules: make([]*proxyv1.SecurityRule, rules)}}
		for i := range spec.SecurityGroups[0].Rules {
			spec.SecurityGroups[0].Rules[i] = &proxyv1.SecurityRule{}
		}
		data, err := proto.Marshal(&proxyv1.CreateResourceGroupRequest{Spec: spec})
		g.Expect(err).NotTo(HaveOccurred())
		read := &proxyv1.CreateResourceGroupRequest{}
		if err := (codec{}).Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, read); err != nil {
			return err
		}
		g.Expect(proto.Equal(read.GetSpec(), spec)).To(BeTrue())
		return nil
	}
	g.Expect(of(maxValues-2)).To(Succeed(), "spec and security group are values too")
	g.Expect(of(maxValues - 1)).To(MatchError(ContainSubstring("more than 32768 values")))
	g.Expect((codec{}).Unmarshal(mem.BufferSlice{mem.SliceBuffer{0xff}}, spec)).NotTo(Succeed(), "no message at all")
}

// Until gRPC has written an answer, or dropped it.
func TestCodec_countsAnswersThatAreNotWritten(t *testing.T) {
	t.Parallel()
	g, closed, unsent := NewWithT(t), 0, evict.New[string](10_000)
	to := &session{unsent: unsent.Add("blue", 0, func() { closed++ })}
	marshal := func(size, window int) mem.BufferSlice {
		data, err := codec{}.Marshal(&answer{message: &proxyv1.GetRequest{Name: string(make([]byte, size))}, to: to, window: window})
		g.Expect(err).NotTo(HaveOccurred())
		return data
	}
	small, large := marshal(1, 0), marshal(3000, 1000)
	g.Expect(unsent.Weight()).To(BeNumerically("~", pooled+1+3000+1000, 10))
	small.Free()
	g.Expect(unsent.Weight()).To(BeNumerically("~", 3000+1000, 10))
	large.Free()
	g.Expect(unsent.Weight()).To(BeZero())
	g.Expect(closed).To(BeZero())
	marshal(5000, 0)
	marshal(5000, 0)
	g.Expect(closed).To(Equal(1))
	g.Expect(unsent.Weight()).To(BeZero())
}

func TestLimits_ofBytesThatATenantWrites(t *testing.T) {
	t.Parallel()
	g, l := NewWithT(t), newLimits(&Config{TenantWriteBytes: 100})
	blue := caller{organization: "blue"}
	g.Expect(l.write(blue, maxMessage)).To(Succeed())
	g.Expect(status.Code(l.write(blue, 1000))).To(Equal(codes.ResourceExhausted))
	g.Expect(l.write(caller{organization: "red"}, 1000)).To(Succeed())
	g.Expect(l.write(caller{organization: "ops", operator: true}, 100*maxMessage)).To(Succeed())
}

// begun is a call of an organization whose headers have come.
func begun(t *testing.T, a *admission) context.Context {
	t.Helper()
	return begunIn(t.Context(), t, a)
}

func begunIn(ctx context.Context, t *testing.T, a *admission) context.Context {
	t.Helper()
	ctx, err := a.begin(peer.NewContext(ctx, &peer.Peer{AuthInfo: &session{AuthInfo: credentials.TLSInfo{}}}), nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return ctx
}

// As many as may be open are of no more than so many bytes; the first to go are those of which the message hasn't come.
func TestCalls_areBoundedByWhatTheyWeigh(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	a := &admission{Tenancy: &Tenancy{Plaintext: true}, limits: newLimits(&Config{}), metrics: NewMetrics()}
	watch := begun(t, a)
	watch.Value(callKey{}).(*call).received(&proxyv1.WatchRequest{})
	weight := a.limits.requests.Weight()
	g.Expect(weight).To(BeNumerically("~", callWeight, 100))
	calls := []context.Context{}
	for range (maxRequests - weight) / unreadWeight {
		calls = append(calls, begun(t, a))
	}
	for _, ctx := range calls {
		g.Expect(ctx.Err()).NotTo(HaveOccurred())
	}
	calls = append(calls, begun(t, a))
	g.Expect(context.Cause(calls[0])).To(MatchError(errSurplus))
	for _, ctx := range append(calls[1:], watch) {
		g.Expect(ctx.Err()).NotTo(HaveOccurred())
	}
	g.Expect(status.Code(translate(calls[0], errSurplus, "", nil))).To(Equal(codes.ResourceExhausted))
	g.Expect(status.Code((&service[*proxyv1.ResourceGroup]{kind: resourceGroupKind()}).watchEnded(calls[0], calls[0].Err()))).
		To(Equal(codes.ResourceExhausted))
}

func TestTurns_ofOneTenantAreNotOfAnother(t *testing.T) {
	t.Parallel()
	g, all := NewWithT(t), newTurns(3, 2)
	take := func(organization string) (func(), error) { return all.take(t.Context(), organization) }
	refused := func(organization string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := all.take(ctx, organization)
		g.Expect(err).To(MatchError(context.DeadlineExceeded))
	}
	first, err := take("blue")
	g.Expect(err).NotTo(HaveOccurred())
	second, err := take("blue")
	g.Expect(err).NotTo(HaveOccurred())
	refused("blue")
	third, err := take("red")
	g.Expect(err).NotTo(HaveOccurred())
	refused("green")
	first()
	fourth, err := take("green")
	g.Expect(err).NotTo(HaveOccurred())
	for _, giveBack := range []func(){second, third, fourth} {
		giveBack()
	}
	g.Expect(all.of).To(BeEmpty())
	g.Expect(all.all).To(BeEmpty())
}
