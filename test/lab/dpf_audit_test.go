package lab

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/gomega"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/controlplane"
)

// auditEvent is as much of audit.k8s.io/v1 as is looked at.
type auditEvent struct {
	Verb      string
	User      struct{ Username string }
	ObjectRef struct{ Resource, Subresource, Namespace, Name string }

	RequestObject  json.RawMessage
	ResponseStatus struct{ Code int }
}

// merged is a merge patch: what is null is removed.
type merged struct {
	Metadata struct{ Labels, Annotations map[string]*string }
	Spec     map[string]json.RawMessage
}

const dpfManager = "system:serviceaccount:dpf-operator-system:bedplate-dpf-manager"

// written is what dpf-manager has written beside its components, in the API server's own words. Others' writes aren't in it, and nothing
// that was refused.
func (d dpfLab) written() (writes []string) {
	d.t.Helper()
	log, err := os.ReadFile(filepath.Join(d.dir, "management", controlplane.AuditLog))
	d.g.Expect(err).NotTo(HaveOccurred())
	for line := range bytes.Lines(log) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // the API server is writing it
		}
		var e auditEvent
		d.g.Expect(json.Unmarshal(line, &e)).To(Succeed())
		if text := d.text(e); text != "" && e.User.Username == dpfManager && e.ResponseStatus.Code < 300 {
			writes = append(writes, text)
		}
	}
	return slices.Compact(writes)
}

// text of an event; none of the operator's components and its configuration.
func (d dpfLab) text(e auditEvent) string {
	d.t.Helper()
	what := e.ObjectRef
	if what.Namespace == operatorv1.Namespace || what.Resource == "dpfoperatorconfigs" || strings.HasPrefix(what.Resource, "clusterrole") ||
		what.Resource == "persistentvolumes" {
		return ""
	}
	if strings.HasPrefix(what.Name, "dpf-journal-") {
		return "journal"
	}
	words := []string{e.Verb, what.Resource, what.Name}
	if e.Verb != "patch" {
		return strings.Join(words, " ")
	}
	var patch merged
	d.g.Expect(json.Unmarshal(e.RequestObject, &patch)).To(Succeed())
	sign := map[bool]string{true: "+", false: "-"}
	for _, field := range slices.Sorted(maps.Keys(patch.Spec)) {
		if field == "taints" {
			field += sign[bytes.Contains(patch.Spec[field], []byte(operatorv1.NetworkNotReadyTaint))]
		}
		words = append(words, field)
	}
	for _, all := range []map[string]*string{patch.Metadata.Labels, patch.Metadata.Annotations} {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			words = append(words, name[strings.Index(name, "/")+1:]+sign[all[name] != nil])
		}
	}
	return strings.Join(words, " ")
}

// expectTheSeedsOrder of the move of three nodes, of five.
func (d dpfLab) expectTheSeedsOrder() {
	d.t.Helper()
	wanted := []string{
		"journal", "patch clusterversions version overrides network-journal+",
		"journal", "patch deployments network-operator replicas",
		"journal", "delete validatingwebhookconfigurations network-node-identity.openshift.io",
		"journal", "patch daemonsets ovnkube-node template",
		"create configmaps ovnkube-config-dpf", "create configmaps ovnkube-script-lib-dpf", "create daemonsets ovnkube-node-dpf",
	}
	for _, node := range []string{"ocp-worker-1", "ocp-worker-2", "ocp-worker-3"} {
		wanted = append(wanted,
			"journal", "patch nodes "+node+" taints+ network-moved+", // stock ovn-kubernetes leaves
			"patch nodes "+node+" node-chassis-id-",
			"journal", "patch nodes "+node+" taints- network-preconfig-ready+", "journal") // the custom one comes
	}
	// A client may have its answer before the API server has written the event.
	d.g.Eventually(d.written).WithTimeout(answerTimeout).Should(Equal(slices.Compact(wanted)),
		func() string { return strings.Join(d.written(), "\n") })
}
