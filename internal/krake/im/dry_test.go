package im_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// Releases and clouds describe machines differently. Nothing reads it: what counts is that the template is accepted.
func TestDryRun_acceptsWhateverIsEstimated(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		c := b.connect(answering(200, `{"cloud": {"compute": [{"cpuCores": "2", "memoryInMegabytes": "4 GB"}]}}`, always))
		_, err := c.DryRun(b.t.Context(), cluster)
		b.Expect(err).NotTo(HaveOccurred())
	})
}
