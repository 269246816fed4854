package agentstest

import (
	_ "embed"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// level1 is agent.proto as agents of level 1 were built from it. It never changes. It was created there by
//
//	buf build --as-file-descriptor-set --exclude-imports --exclude-source-info -o level1.json
//
//go:embed testdata/level1.json
var level1 []byte

// Level1 is an agent that knows only what agents of level 1 know: all other fields are lost on the way in and out, as with an
// older program. Its report has to have its level too: see Older.
func Level1() grpc.ServerOption {
	set := &descriptorpb.FileDescriptorSet{}
	if err := protojson.Unmarshal(level1, set); err != nil {
		panic(err)
	}
	file, err := protodesc.NewFile(set.GetFile()[0], protoregistry.GlobalFiles)
	if err != nil {
		panic(err)
	}
	return grpc.ForceServerCodec(codec{file})
}

// Older makes a report one of an agent of level 1.
func Older(r *Said) { r.Level, r.Version, r.SouthboundRequest, r.Datapath = 1, "v0.0.1-test", "", nil }

// codec knows the messages of a file.
type codec struct{ protoreflect.FileDescriptor }

// Name implements encoding.Codec.
func (codec) Name() string { return "proto" }

// Marshal implements encoding.Codec.
func (c codec) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", v)
	}
	data, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	return c.pass(m, data)
}

// Unmarshal implements encoding.Codec.
func (c codec) Unmarshal(data []byte, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no message", v)
	}
	known, err := c.pass(m, data)
	if err != nil {
		return err
	}
	return proto.Unmarshal(known, m)
}

// pass only what the file knows of a message.
func (c codec) pass(m proto.Message, data []byte) ([]byte, error) {
	known := c.Messages().ByName(m.ProtoReflect().Descriptor().Name())
	if known == nil {
		return nil, fmt.Errorf("%T isn't known", m)
	}
	message := dynamicpb.NewMessage(known)
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, message); err != nil {
		return nil, err
	}
	return proto.Marshal(message)
}
