package creates

import (
	"maps"
	"time"

	"github.com/bedplate/bedplate/internal/fault"
)

// quickly is how long a create takes at most at a site that is well.
const quickly = 10 * time.Second

// siteState is how the last create went at a site, for some time.
type siteState struct {
	quick bool
	until time.Time
}

// reserved reports whether what is left beside the turns that are held is for other sites. A site of which nothing is known
// doesn't get all turns. One that is known to hang gets one, and all such leave one to the others.
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

// learnFrom how a create went. One that failed because its site hangs says nothing of what the endpoint can do: such a site has
// one turn, and with fewer for all the others would wait behind it.
func (e *endpoint) learnFrom(p Place, took time.Duration, err error) {
	if err == nil || fault.IsAmbiguous(err) { // otherwise it wasn't the site that took so long, but its tenant's login
		e.learn(p.Site, took, err == nil)
	}
	if p.Site == "" || err == nil || took <= quickly {
		e.heed(err)
	}
}

// learn how a site is from a create that took so long there. A refusal at once may be the endpoint's own.
func (e *endpoint) learn(site string, took time.Duration, made bool) {
	if site == "" || !made && took <= quickly {
		return
	}
	now := time.Now()
	maps.DeleteFunc(e.sites, func(_ string, s siteState) bool { return now.After(s.until) })
	e.sites[site] = siteState{quick: took <= quickly, until: now.Add(narrowedFor)}
}
