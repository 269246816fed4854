package main

import (
	"fmt"
	"strconv"
	"time"
)

// tempo is how the manager and the site are set. The manager's defaults are life; at another speed every time is divided,
// and every rate multiplied, by the same number, so that what happens stays in proportion.
type tempo struct {
	Speed        float64       `json:"speed"`
	Poll         time.Duration `json:"pollNanoseconds"`
	Settle       time.Duration `json:"-"`
	Create       time.Duration `json:"-"`
	OutsideQPS   float64       `json:"outsideQPS"`
	OutsideBurst int           `json:"-"`
}

// The manager's defaults.
const (
	lifePoll         = 30 * time.Second
	lifeSettle       = 3 * time.Minute
	lifeCreate       = 75 * time.Second
	lifeOutsideQPS   = 20
	lifeOutsideBurst = 100
)

func atSpeed(speed float64) tempo {
	return tempo{
		Speed: speed, Poll: scaled(lifePoll, speed), Settle: scaled(lifeSettle, speed), Create: scaled(lifeCreate, speed),
		OutsideQPS: lifeOutsideQPS * speed, OutsideBurst: int(lifeOutsideBurst * speed),
	}
}

func scaled(d time.Duration, speed float64) time.Duration { return time.Duration(float64(d) / speed) }

// flags of the manager. The pace of requests to the API server is no time of the site's, and so isn't scaled but free.
func (t tempo) flags() []string {
	return []string{
		"--poll-interval=" + t.Poll.String(),
		"--settle=" + t.Settle.String(),
		"--create-timeout=" + t.Create.String(),
		fmt.Sprintf("--outside-qps=%g", t.OutsideQPS),
		"--outside-burst=" + strconv.Itoa(t.OutsideBurst),
		"--kube-api-qps=-1",
	}
}
