package client

import (
	"sync"
	"time"
)

// refusal remembers that the API or its login has refused who we are, for all who share the client: asking again with
// the same credentials would only be hammering.
type refusal struct {
	pause time.Duration

	mu  sync.Mutex
	at  time.Time
	err error
}

// recent is the error of a refusal that isn't long ago.
func (r *refusal) recent() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil || time.Since(r.at) >= r.pause {
		return nil
	}
	return r.err
}

// note remembers a refusal, which is about the credentials and nothing else.
func (r *refusal) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.err = time.Now(), err
}
