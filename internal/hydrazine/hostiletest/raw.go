// Package hostiletest has clients that harm whom they call, for tests.
package hostiletest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"
)

// Raw is a client that sends any HTTP/2 frames. It keeps to the server's windows, so that it isn't thrown out for that.
type Raw struct {
	conn   net.Conn
	out    *bufio.Writer // to the server
	framer *http2.Framer
	mutex  sync.Mutex // of all that is written, and of what follows
	change *sync.Cond
	encode *hpack.Encoder
	block  bytes.Buffer
	next   uint32
	first  int64            // window of a new stream
	window map[uint32]int64 // of a stream that is open; 0 is the connection's
	gone   bool
}

// NewRaw begins HTTP/2 by a connection, and takes answers as settings say. The connection is closed when ctx ends.
func NewRaw(ctx context.Context, conn net.Conn, settings ...http2.Setting) (*Raw, error) {
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	out := bufio.NewWriterSize(conn, 64<<10)
	r := &Raw{conn: conn, out: out, framer: http2.NewFramer(out, conn), next: 1, first: 65535, window: map[uint32]int64{0: 65535}}
	r.change, r.encode = sync.NewCond(&r.mutex), hpack.NewEncoder(&r.block)
	_, _ = out.WriteString(http2.ClientPreface)
	_ = r.framer.WriteSettings(settings...)
	if err := out.Flush(); err != nil {
		return nil, err
	}
	go r.listen()
	return r, nil
}

// listen to the server until it, or the client, has enough.
func (r *Raw) listen() {
	for {
		frame, err := r.framer.ReadFrame()
		r.mutex.Lock()
		if err != nil {
			r.gone = true
			r.change.Broadcast()
			r.mutex.Unlock()
			_ = r.conn.Close()
			return
		}
		if r.heard(frame) {
			r.change.Broadcast()
		}
		r.mutex.Unlock()
	}
}

// heard reports whether a sender that waits for a window may continue.
func (r *Raw) heard(frame http2.Frame) bool {
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			return false
		}
		if value, found := f.Value(http2.SettingInitialWindowSize); found {
			for stream := range r.window {
				if stream != 0 {
					r.window[stream] += int64(value) - r.first
				}
			}
			r.first = int64(value)
		}
		_ = r.framer.WriteSettingsAck()
		_ = r.out.Flush()
		return true
	case *http2.PingFrame:
		if !f.IsAck() {
			_ = r.framer.WritePing(true, f.Data)
			_ = r.out.Flush()
		}
	case *http2.WindowUpdateFrame:
		if _, open := r.window[f.StreamID]; open {
			r.window[f.StreamID] += int64(f.Increment)
		}
		return true
	case *http2.RSTStreamFrame:
		delete(r.window, f.StreamID)
		return true
	case *http2.HeadersFrame:
		if f.StreamEnded() {
			delete(r.window, f.StreamID)
		}
		return f.StreamEnded()
	}
	return false
}

// Open a call, with a header for gRPC's deadline where there is one, and perhaps others.
func (r *Raw) Open(method, timeout string, more ...[2]string) (stream uint32, ok bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.block.Reset()
	for _, field := range append([][2]string{
		{":method", "POST"}, {":scheme", "https"}, {":path", "/bedplate.hydrazine.proxy.v1." + method}, {":authority", "proxy"},
		{"content-type", "application/grpc"}, {"te", "trailers"}, {"grpc-timeout", timeout},
	}, more...) {
		if field[1] != "" {
			_ = r.encode.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
		}
	}
	stream = r.next
	r.next += 2
	r.window[stream] = r.first
	err := r.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: r.block.Bytes(), EndHeaders: true})
	if err == nil {
		err = r.out.Flush()
	}
	return stream, err == nil && !r.gone
}

// Send some bytes of a call in pieces, as long as the server takes them.
func (r *Raw) Send(stream uint32, data []byte, piece int, end bool) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	defer r.out.Flush()
	for len(data) > 0 {
		window, open := r.window[stream]
		switch {
		case r.gone || !open:
			return false
		case window <= 0 || r.window[0] <= 0:
			_ = r.out.Flush()
			r.change.Wait()
			continue
		}
		n := min(int64(len(data)), int64(piece), window, r.window[0])
		if err := r.framer.WriteData(stream, end && n == int64(len(data)), data[:n]); err != nil {
			return false
		}
		r.window[stream] -= n
		r.window[0] -= n
		data = data[n:]
	}
	return true
}

// Message as gRPC sends it.
func Message(m proto.Message) []byte {
	data, _ := proto.Marshal(m)
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(data))), data...)
}

// Unfinished message of a size, of which the last byte is missing.
func Unfinished(size int) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(size)), make([]byte, size-1)...)
}

// EachCall opens so many calls, and does the same in all of them at a time.
func (r *Raw) EachCall(n int, method string, do func(stream uint32), more ...[2]string) {
	var all sync.WaitGroup
	for range n {
		if stream, ok := r.Open(method, "", more...); ok {
			all.Go(func() { do(stream) })
		}
	}
	all.Wait()
}

// Over reports whether the connection has ended.
func (r *Raw) Over() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.gone
}

// IsOpen reports whether a call hasn't ended.
func (r *Raw) IsOpen(stream uint32) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	_, open := r.window[stream]
	return open
}
