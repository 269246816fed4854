package client

import (
	"net/http"
	"sync"
	"time"
)

// refusal remembers that the API has refused the token, for all who share the client: asking again with the same one
// would only be hammering.
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

// note remembers the answer 401, which is about the token and nothing else.
func (r *refusal) note(status int, err error) {
	if status != http.StatusUnauthorized {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.err = time.Now(), err
}
