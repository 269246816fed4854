// Package soaktest has what tests with a configurable duration share.
package soaktest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
)

const durationVariable, seedVariable = "BEDPLATE_HOSTILE", "BEDPLATE_SEED"

// Options are how long a test continues and what its random choices follow from: BEDPLATE_HOSTILE, such as 1h, or the duration that
// is given, and BEDPLATE_SEED, or any. The seed is in the log. A test without a duration is skipped.
func Options(t testing.TB, duration time.Duration) (_ time.Duration, seed uint64) {
	t.Helper()
	var err error
	if text := os.Getenv(durationVariable); text != "" {
		duration, err = time.ParseDuration(text)
	}
	if err == nil && duration == 0 {
		t.Skipf("%s isn't set: it says how long the test goes on, such as 1h", durationVariable)
	}
	seed = rand.Uint64()
	if text := os.Getenv(seedVariable); text != "" && err == nil {
		_, err = fmt.Sscan(text, &seed)
	}
	if err != nil {
		t.Fatalf("read %s and %s: %v", durationVariable, seedVariable, err)
	}
	t.Logf("seed %d", seed)
	return duration, seed
}

// Compare logs how long the same work took alone, and beside hostile clients. It sorts both.
func Compare(t testing.TB, alone, beside []time.Duration) {
	t.Helper()
	at := func(all []time.Duration, percent int) time.Duration {
		slices.Sort(all)
		return all[len(all)*percent/100]
	}
	t.Logf("alone %s (99 %%: %s), beside hostile clients %s (99 %%: %s): %.2f times; %d and %d rounds", at(alone, 50), at(alone, 99),
		at(beside, 50), at(beside, 99), float64(at(beside, 50))/float64(at(alone, 50)), len(alone), len(beside))
}

// Rest for some time, or until ctx ends.
func Rest(ctx context.Context, duration time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(duration):
	}
}
