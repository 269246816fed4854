package mirror_test

import (
	"reflect"
	"testing"

	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/proxy/mirror"
)

type protocol string

type ports struct {
	First int32 `json:"first,omitempty"`
	Last  int32 `json:"last,omitempty"`
}

// rule is a struct as SecurityRule, but for the type of one field.
type rule[Ports any] struct {
	Direction      string   `json:"direction,omitempty"`
	Protocol       protocol `json:"protocol,omitempty"`
	Ports          Ports    `json:"ports,omitempty"`
	Prefixes       []string `json:"prefixes,omitempty"`
	SecurityGroups []string `json:"securityGroups,omitempty"`
}

var words = []string{"Ingress", "Egress", "Any", "TCP", "UDP", "ICMP"}

func newMirror[T any](words []string) (*mirror.Mirror, error) {
	return mirror.New(reflect.TypeFor[T](), (&proxyv1.SecurityRule{}).ProtoReflect().Descriptor(), words)
}

func TestNew_findsWhatHasDriftedApart(t *testing.T) {
	t.Parallel()
	for says, c := range map[string]func() (*mirror.Mirror, error){
		"PortRange has no field for mirror_test.more.more": func() (*mirror.Mirror, error) { return newMirror[rule[[]more]](words) },
		"less has no field for bedplate.hydrazine.proxy.v1.PortRange.last": func() (*mirror.Mirror, error) {
			return newMirror[rule[[]less]](words)
		},
		"SecurityRule.ports: only one of it and mirror_test.ports is a list": func() (*mirror.Mirror, error) { return newMirror[rule[ports]](words) },
		"SecurityRule.ports is a message, but here a string":                 func() (*mirror.Mirror, error) { return newMirror[rule[[]string]](words) },
		"PortRange.first is a int32, but here a int64":                       func() (*mirror.Mirror, error) { return newMirror[rule[[]wide]](words) },
		"SECURITY_PROTOCOL_ICMP is none of the words of the kinds":           func() (*mirror.Mirror, error) { return newMirror[rule[[]ports]](words[:5]) },
	} {
		_, err := c()
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(says)))
	}
	_, err := newMirror[rule[[]ports]](words)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

type more struct {
	First int32 `json:"first,omitempty"`
	Last  int32 `json:"last,omitempty"`
	More  int32 `json:"more,omitempty"`
}

type less struct {
	First int32 `json:"first,omitempty"`
}

type wide struct {
	First int64 `json:"first,omitempty"`
	Last  int32 `json:"last,omitempty"`
}

func TestFromMessage_refusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m, err := newMirror[rule[[]ports]](words)
	g.Expect(err).NotTo(HaveOccurred())
	newer := &proxyv1.PortRange{First: 1}
	newer.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	for says, message := range map[string]*proxyv1.SecurityRule{
		"protocol: has a value that this version of the proxy doesn't know, 77": {Protocol: 77},
		"ports[1]: has fields that this version of the proxy doesn't know":      {Ports: []*proxyv1.PortRange{{First: 1}, newer}},
	} {
		into := rule[[]ports]{}
		g.Expect(m.FromMessage(message.ProtoReflect(), reflect.ValueOf(&into).Elem())).To(MatchError(says))
	}
}

func TestMirror_goesBothWays(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m, err := newMirror[rule[[]ports]](words)
	g.Expect(err).NotTo(HaveOccurred())
	r := rule[[]ports]{Direction: "Egress", Protocol: "TCP", Ports: []ports{{First: 80}, {First: 1, Last: 3}}, Prefixes: []string{"10.0.0.0/8"}}
	message := &proxyv1.SecurityRule{}
	m.ToMessage(reflect.ValueOf(r), message.ProtoReflect())
	g.Expect(message.String()).To(Equal((&proxyv1.SecurityRule{
		Direction: proxyv1.SecurityDirection_SECURITY_DIRECTION_EGRESS, Protocol: proxyv1.SecurityProtocol_SECURITY_PROTOCOL_TCP,
		Ports: []*proxyv1.PortRange{{First: 80}, {First: 1, Last: 3}}, Prefixes: []string{"10.0.0.0/8"},
	}).String()))
	back := rule[[]ports]{}
	g.Expect(m.FromMessage(message.ProtoReflect(), reflect.ValueOf(&back).Elem())).To(Succeed())
	g.Expect(back).To(Equal(r))

	// What a newer API server says is passed on without the unknown value.
	message = &proxyv1.SecurityRule{}
	m.ToMessage(reflect.ValueOf(rule[[]ports]{Protocol: "SCTP", Direction: "Ingress"}), message.ProtoReflect())
	g.Expect(message.GetProtocol()).To(BeZero())
	g.Expect(message.GetDirection()).To(Equal(proxyv1.SecurityDirection_SECURITY_DIRECTION_INGRESS))
}

func TestMirror_ofTimes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m, err := mirror.New(reflect.TypeFor[metav1.Condition](), (&proxyv1.Condition{}).ProtoReflect().Descriptor(), []string{"True", "False", "Unknown"})
	g.Expect(err).NotTo(HaveOccurred())
	c := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, ObservedGeneration: 3, LastTransitionTime: metav1.Unix(1790000000, 0)}
	message := &proxyv1.Condition{}
	m.ToMessage(reflect.ValueOf(c), message.ProtoReflect())
	g.Expect(message.GetLastTransitionTime().GetSeconds()).To(Equal(int64(1790000000)))
	back := metav1.Condition{}
	g.Expect(m.FromMessage(message.ProtoReflect(), reflect.ValueOf(&back).Elem())).To(Succeed())
	g.Expect(back.LastTransitionTime.Equal(&c.LastTransitionTime)).To(BeTrue())
}

func TestPath_speaksAsTheMessageDoes(t *testing.T) {
	t.Parallel()
	m, err := newMirror[rule[[]ports]](words)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for path, is := range map[string]string{
		"ports[1].last": "ports[1].last", "securityGroups[3]": "security_groups[3]", "ports": "ports", "": "",
		"elsewhere.hostIP": "elsewhere.hostIP", "ports[0].elseWhere": "ports[0].elseWhere", "prefixes[0].x": "prefixes[0].x",
	} {
		NewWithT(t).Expect(m.Path(path)).To(Equal(is))
	}
}

func TestDifferences_areNamedAsInTheMessage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m, err := newMirror[rule[[]ports]](words)
	g.Expect(err).NotTo(HaveOccurred())
	a := rule[[]ports]{Protocol: "TCP", SecurityGroups: []string{"a"}, Prefixes: []string{}}
	b := rule[[]ports]{Protocol: "TCP", Ports: []ports{{First: 1}}}
	g.Expect(m.Differences(reflect.ValueOf(a), reflect.ValueOf(b))).To(Equal([]string{"ports", "security_groups"}))
}
