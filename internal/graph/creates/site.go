package creates

import (
	"maps"
	"time"

	"github.com/bedplate/bedplate/internal/fault"
)

// quickly is how long a create takes at most at a healthy site.
const quickly = 10 * time.Second

// siteState is the outcome of the last create at a site. It expires.
type siteState struct {
	quick bool
	until time.Time
}

// reserved reports whether the turns that are left are reserved for other sites. A site of which nothing is known doesn't
// get the last turn. A site that is known to hang gets one turn, and all such sites leave one to the others.
func (e *endpoint) reserved(p Place, held []Place) bool {
	state, known := e.state(p.Site)
	if p.Site == "" || e.limit == 1 || state.quick {
		return false
	}
	here, hanging := 0, 0
	for _, h := range held {
		if h.Site == p.Site {
			here++
		}
		if other, known := e.state(h.Site); known && !other.quick {
			hanging++
		}
	}
	if known {
		return here > 0 || hanging >= e.limit-1
	}
	return here >= e.limit-1
}

func (e *endpoint) state(site string) (_ siteState, known bool) {
	state, known := e.sites[site]
	if !known || time.Now().After(state.until) {
		return siteState{}, false
	}
	return state, true
}

// learnFrom the outcome of a create. One that failed because its site hangs says nothing about the endpoint: such a site has
// one turn, and with a lower limit the others would wait behind it.
func (e *endpoint) learnFrom(p Place, took time.Duration, err error) {
	if err == nil || fault.IsAmbiguous(err) { // otherwise it wasn't the site that took so long, but its tenant's login
		e.learn(p.Site, took, err == nil)
	}
	if p.Site == "" || err == nil || took <= quickly {
		e.heed(err)
	}
}

// learn the state of a site from how long a create took there. An immediate refusal may be the endpoint's own.
func (e *endpoint) learn(site string, took time.Duration, made bool) {
	if site == "" || !made && took <= quickly {
		return
	}
	now := time.Now()
	maps.DeleteFunc(e.sites, func(_ string, s siteState) bool { return now.After(s.until) })
	e.sites[site] = siteState{quick: took <= quickly, until: now.Add(narrowedFor)}
}
