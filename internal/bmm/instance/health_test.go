package instance

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestReports_areFewPerClusterAndHour(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var r Reports
	now := time.Now()
	for _, id := range []string{"1", "2", "3", "1"} {
		g.Expect(r.take("blue", id, now)).To(BeTrue(), id)
	}
	g.Expect(r.take("blue", "4", now.Add(59*time.Minute))).To(BeFalse())
	g.Expect(r.take("red", "4", now.Add(59*time.Minute))).To(BeTrue(), "another cluster's")
	g.Expect(r.take("blue", "4", now.Add(time.Hour))).To(BeTrue())
	g.Expect(r.take("blue", "5", now.Add(3*time.Hour))).To(BeTrue())
	g.Expect(r.told).To(HaveLen(1), "what is over is forgotten")
}
