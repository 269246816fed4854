package proxy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/proxy"
	"github.com/bedplate/bedplate/internal/mtls"
)

func guide(g Gomega) string {
	text, err := os.ReadFile("../../../docs/hydrazine-proxy.md")
	g.Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// reflected is a symbol as the server itself describes it: as grpcurl, the test knows nothing of the API.
func (f *fixture) reflected(connection *grpc.ClientConn, symbol string) protoreflect.Descriptor {
	f.t.Helper()
	stream, err := grpc_reflection_v1.NewServerReflectionClient(connection).ServerReflectionInfo(f.t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol},
	})).To(Succeed())
	answer, err := stream.Recv()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(answer.GetErrorResponse()).To(BeNil(), symbol)
	set := &descriptorpb.FileDescriptorSet{}
	for _, data := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := &descriptorpb.FileDescriptorProto{}
		f.Expect(proto.Unmarshal(data, file)).To(Succeed())
		set.File = append(set.File, file)
	}
	files, err := protodesc.NewFiles(set)
	f.Expect(err).NotTo(HaveOccurred())
	found, err := files.FindDescriptorByName(protoreflect.FullName(symbol))
	f.Expect(err).NotTo(HaveOccurred())
	return found
}

// Every command of the guide, in order, does what the guide says.
func TestGuide_canBeFollowed(t *testing.T) {
	t.Parallel()
	f, blue := newFixture(t), tenant("blue")
	as := map[string]*grpc.ClientConn{"TENANT": f.connect(blue), "OPERATOR": f.connect(operators)}
	commands := regexp.MustCompile(`(?m)^grpcurl \$(TENANT|OPERATOR) (?:-d '([^']*)' )?(?:\\\n  )?\$PROXY (describe )?(\S+)$`).
		FindAllStringSubmatch(guide(f), -1)
	f.Expect(commands).To(HaveLen(strings.Count(guide(f), "grpcurl $")))
	used := map[string]bool{}
	for _, command := range commands {
		connection, body, symbol := as[command[1]], command[2], strings.ReplaceAll(command[4], "/", ".")
		described := f.reflected(connection, symbol)
		if command[3] != "" {
			continue
		}
		method := described.(protoreflect.MethodDescriptor)
		if strings.Contains(body, "VERSION") {
			host, err := f.as(blue).ManagedResources.Get(t.Context(), &proxyv1.GetRequest{Name: "host1"})
			f.Expect(err).NotTo(HaveOccurred())
			body = strings.ReplaceAll(body, "VERSION", host.GetMetadata().GetResourceVersion())
		}
		request := dynamicpb.NewMessage(method.Input())
		f.Expect(protojson.Unmarshal([]byte(body), request)).To(Succeed(), symbol)
		f.Eventually(func() error { // the webhook may not know a group yet that is there
			_, err := call(t.Context(), connection, method, request)
			return err
		}, patience, 100*time.Millisecond).Should(Succeed(), symbol)
		used[symbol] = true
	}
	for _, method := range methods() { // of one service each, and both of the operators' own
		if method.Parent().Name() == "ManagedResources" || method.Parent().Name() == "PublicIPs" && method.Name() == "Create" {
			f.Expect(used).To(HaveKey(string(method.FullName())))
		}
	}
}

func TestGuide_namesEveryFlagAndReason(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	flags, words := pflag.NewFlagSet("", pflag.ContinueOnError), []string{}
	(&proxy.Config{}).AddFlags(flags)
	(&mtls.Files{}).AddFlags(flags)
	flags.VisitAll(func(f *pflag.Flag) { words = append(words, "--"+f.Name) })
	g.Expect(words).To(ContainElement("--tenant-qps"))
	contract, err := os.ReadFile("../../../api/hydrazine/proxy/v1/common.proto")
	g.Expect(err).NotTo(HaveOccurred())
	reasons := regexp.MustCompile(`(?m)^//   ([A-Z_]+) +([A-Z_]+): `).FindAllStringSubmatch(string(contract), -1)
	g.Expect(reasons).To(HaveLen(7))
	for _, reason := range reasons {
		words = append(words, reason[1], reason[2])
	}
	code := ""
	for _, file := range []string{"errors.go", "service.go", "limits.go", "namespaces.go"} {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		code += string(text)
	}
	for _, reason := range regexp.MustCompile(`(?:reason: |f\.reason(?:, f\.\w+)* = codes\.\w+, )"([A-Z_]+)"`).FindAllStringSubmatch(code, -1) {
		g.Expect(string(contract)).To(ContainSubstring("//   "+reason[1]+" "), "common.proto")
		words = append(words, reason[1])
	}
	for _, word := range words {
		g.Expect(guide(g)).To(ContainSubstring("`" + word + "`"))
	}
}
