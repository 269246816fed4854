package simulator

import "time"

// Clock runs speed times as fast as the real one.
type Clock struct {
	start time.Time
	speed float64
}

// Now is the simulated time.
func (c Clock) Now() time.Time {
	return c.start.Add(time.Duration(float64(time.Since(c.start)) * c.speed))
}

// Real converts a simulated duration into a real one, rounded up so that a timer never fires early.
func (c Clock) Real(simulated time.Duration) time.Duration {
	return time.Duration(float64(simulated)/c.speed) + 1
}
