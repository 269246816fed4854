package ignition_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/powervs/ignition"
)

const url = "https://s3.example.com/bucket/node/worker-1?X-Amz-Expires=3600&X-Amz-Signature=abc"

func TestStub_saysWhereTheConfigurationIs(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"2.3": `{"ignition": {"version": "2.3.0", "config": {"append": [{"source": "` + url + `"}]}}}`,
		"2.4": `{"ignition": {"version": "2.4.0", "config": {"append": [{"source": "` + url + `"}]}}}`,
		"3.0": `{"ignition": {"version": "3.0.0", "config": {"merge": [{"source": "` + url + `"}]}}}`,
		"3.4": `{"ignition": {"version": "3.4.0", "config": {"merge": [{"source": "` + url + `"}]}}}`,
	} {
		g := NewWithT(t)
		stub, err := ignition.Stub(version, url)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(stub).To(MatchJSON(want))
	}
}

func TestStub_refusesAVersionThatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	_, err := ignition.Stub("4.0", url)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring(`"4.0"`)))
}
