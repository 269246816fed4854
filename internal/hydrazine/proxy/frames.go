package proxy

import (
	"errors"
	"net"

	"google.golang.org/grpc/credentials"
)

// framed credentials are those of connections whose frames are checked.
type framed struct {
	credentials.TransportCredentials
	metrics *Metrics
}

// ServerHandshake implements credentials.TransportCredentials.
func (f *framed) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := f.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	return &frames{Conn: secured, metrics: f.metrics, skip: len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), pieces: maxPieces}, info, nil
}

// Clone implements credentials.TransportCredentials.
func (f *framed) Clone() credentials.TransportCredentials { return f }

// HTTP/2's frames, see RFC 9113.
const (
	frameHeader           = 9
	dataFrame, callFrame  = 0, 1
	endOfStream, isPadded = 1, 8
)

const (
	// smallFrame is one that takes more memory than what is in it: gRPC keeps each piece of a message by itself.
	smallFrame = 256
	// maxPieces is how many small ones a client may send, and piecesOfCall how many more with each call.
	maxPieces, piecesOfCall = 512, 4
)

var errPieces = errors.New("messages come in too many pieces")

// frames of a connection. It is closed when its client cuts messages into small pieces. Normal clients send a message in one
// piece, or in pieces as large as the window allows.
type frames struct {
	net.Conn
	metrics *Metrics
	skip    int // bytes until the next frame's header
	header  [frameHeader]byte
	has     int // bytes of that
	pieces  int // that the client may still send
}

// Read implements net.Conn. Only one goroutine reads.
func (f *frames) Read(into []byte) (int, error) {
	n, err := f.Conn.Read(into)
	if !f.look(into[:n]) {
		f.metrics.refuse(refusedFrames)
		return 0, errPieces
	}
	return n, err
}

// look checks received data, and reports whether the connection may continue.
func (f *frames) look(data []byte) bool {
	for len(data) > 0 {
		if f.skip > 0 {
			n := min(f.skip, len(data))
			f.skip, data = f.skip-n, data[n:]
			continue
		}
		n := copy(f.header[f.has:], data)
		f.has, data = f.has+n, data[n:]
		if f.has == frameHeader {
			f.has, f.skip = 0, int(f.header[0])<<16|int(f.header[1])<<8|int(f.header[2])
			f.count(f.header[3], f.header[4])
		}
	}
	return f.pieces >= 0
}

// count a frame of f.skip bytes.
func (f *frames) count(kind, flags byte) {
	switch {
	case kind == callFrame:
		f.pieces = min(f.pieces+piecesOfCall, maxPieces)
	case kind == dataFrame && f.skip > 0 && (flags&isPadded != 0 || f.skip < smallFrame && flags&endOfStream == 0):
		f.pieces--
	}
}
