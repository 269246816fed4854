package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// What a settled manager may grow by between the first and the last third of the samples. The Go runtime gives memory back
// late, so that resident memory says less than the live heap, which is measured just after a garbage collection.
const (
	heapGrowth      = 1.10
	heapSlack       = 1 << 20
	rssGrowth       = 1.15
	rssSlack        = 8 << 20
	goroutineGrowth = 1.0
	goroutineSlack  = 30 // connections come and go: between two calms it is up to 25 in either direction
	// enough calms to distinguish growth from noise.
	enough = 6
	// grownUp is the age from which a manager's memory is judged: client-go remembers each event for 6 to 12 minutes.
	grownUp = 12 * time.Minute
)

// vital is how the manager is in a calm. The fleet has the same size each time.
type vital struct {
	age                   time.Duration
	heap, rss, goroutines float64
}

// examine measures the manager, after a garbage collection.
func (s *soak) examine(ctx context.Context) error {
	if _, err := s.manager.profile(ctx, "heap?gc=1"); err != nil {
		return err
	}
	metrics, err := s.manager.scrape(ctx)
	if err != nil {
		return err
	}
	used, err := usageOf(s.manager.process.PID())
	if err != nil {
		return err
	}
	v := vital{
		age:  time.Since(s.born),
		heap: metrics.total("go_memstats_heap_alloc_bytes"), rss: float64(used.rss), goroutines: metrics.total("go_goroutines"),
	}
	s.vitals = append(s.vitals, v)
	say("calm: %d clusters of %d machines, all right; manager after %s: heap %.1f MiB, RSS %.1f MiB, %.0f goroutines",
		len(s.wanted), s.machines, v.age.Round(time.Second), v.heap/(1<<20), v.rss/(1<<20), v.goroutines)
	return nil
}

// judge compares the manager of late with the one of before.
func (s *soak) judge() error {
	lived := slices.DeleteFunc(s.vitals, func(v vital) bool { return v.age < grownUp })
	if len(lived) < enough {
		say("the manager's memory isn't judged: that takes %d calms after its first %s, and there were %d",
			enough, grownUp, len(lived))
		return nil
	}
	return flat(lived)
}

func flat(lived []vital) error {
	third := len(lived) / 3
	for _, m := range []struct {
		what          string
		of            func(vital) float64
		growth, slack float64
		unit          string
		scale         float64
	}{
		{"live heap", func(v vital) float64 { return v.heap }, heapGrowth, heapSlack, "MiB", 1 << 20},
		{"RSS", func(v vital) float64 { return v.rss }, rssGrowth, rssSlack, "MiB", 1 << 20},
		{"goroutines", func(v vital) float64 { return v.goroutines }, goroutineGrowth, goroutineSlack, "", 1},
	} {
		early, late := median(lived[:third], m.of), median(lived[len(lived)-third:], m.of)
		say("%s: %.1f %s early, %.1f %s late, over %d calms", m.what, early/m.scale, m.unit, late/m.scale, m.unit, len(lived))
		if late > early*m.growth+m.slack {
			return fmt.Errorf("the manager's %s grows: from %.1f to %.1f %s", m.what, early/m.scale, late/m.scale, m.unit)
		}
	}
	return nil
}

func median(vitals []vital, of func(vital) float64) float64 {
	var values []float64
	for _, v := range vitals {
		values = append(values, of(v))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
