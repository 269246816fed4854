package sim

import "time"

// clock runs speed times as fast as the real one.
type clock struct {
	start time.Time
	speed float64
}

func (c clock) now() time.Time {
	return c.start.Add(time.Duration(float64(time.Since(c.start)) * c.speed))
}

// real converts a simulated duration into a real one, rounded up so that a timer never fires early.
func (c clock) real(simulated time.Duration) time.Duration {
	return time.Duration(float64(simulated)/c.speed) + 1
}
