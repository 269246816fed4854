package proxy

import (
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// pooled is the least capacity of a buffer that gRPC gives back to its pool.
	pooled = 1 << 10
	// maxValues of a message is more than any object has that admission accepts. An empty message of two bytes takes a
	// hundred when it is decoded.
	maxValues = 32 << 10
)

// answer is a message to a client, which counts until it is written.
type answer struct {
	message any
	to      *session
	// window is what the client may have sent beside the message that is answered. It is dropped with the answer.
	window int
}

// codec is protobuf's.
type codec struct{}

// Name implements encoding.CodecV2.
func (codec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (codec) Marshal(value any) (mem.BufferSlice, error) {
	a, is := value.(*answer)
	if !is {
		return nil, fmt.Errorf("%T isn't an answer", value)
	}
	message, is := a.message.(proto.Message)
	if !is {
		return nil, fmt.Errorf("%T isn't a message", a.message)
	}
	data, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, 0, max(proto.Size(message), pooled+1)), message)
	if err != nil {
		return nil, err
	}
	weight := cap(data) + a.window
	a.to.unsent.Grow(weight)
	return mem.BufferSlice{mem.NewBuffer(&data, written{a.to, weight})}, nil
}

// written is a mem.BufferPool of one buffer: gRPC puts it back when the answer is written, or dropped.
type written struct {
	*session
	weight int
}

// Get implements mem.BufferPool.
func (written) Get(length int) *[]byte { data := make([]byte, length); return &data }

// Put implements mem.BufferPool.
func (w written) Put(*[]byte) { w.unsent.Grow(-w.weight) }

// Unmarshal implements encoding.CodecV2.
func (codec) Unmarshal(data mem.BufferSlice, value any) error {
	message, is := value.(proto.Message)
	if !is {
		return fmt.Errorf("%T isn't a message", value)
	}
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	left := maxValues
	count(buffer.ReadOnlyData(), message.ProtoReflect().Descriptor(), &left)
	if left < 0 {
		return fmt.Errorf("the message has more than %d values", maxValues)
	}
	return proto.Unmarshal(buffer.ReadOnlyData(), message)
}

// count subtracts the values of a message from those that are left. What can't be read is left to the decoder.
func count(data []byte, of protoreflect.MessageDescriptor, left *int) {
	for len(data) > 0 && *left >= 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return
		}
		size := protowire.ConsumeFieldValue(number, kind, data[n:])
		if size < 0 {
			return
		}
		*left--
		if field := of.Fields().ByNumber(number); field != nil && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(data[n:])
			if field.Message() != nil {
				count(value, field.Message(), left)
			} else if field.IsPacked() {
				*left -= len(value) / 4
			}
		}
		data = data[n+size:]
	}
}
