package simulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
)

// Admin serves a simulator's own endpoints, to loopback clients only.
type Admin struct {
	*http.ServeMux
	// fail answers with an error, as the service does.
	fail func(http.ResponseWriter, *http.Request, error)
}

// Admin has the endpoints that all simulators have. A *Refusal or an error is answered with fail:
//
//	GET    /simulator/calls    number of calls by operation, refused ones included
//	POST   /simulator/faults   let calls go wrong (Fault)
//	DELETE /simulator/faults   clear the faults and end the calls that hang
//	POST   /simulator/chaos    let calls go wrong at random (Chaos)
//	DELETE /simulator/chaos    end that
func (s *Service) Admin(fail func(http.ResponseWriter, *http.Request, error)) *Admin {
	a := &Admin{ServeMux: http.NewServeMux(), fail: fail}
	a.Serve("GET /simulator/calls", func(w http.ResponseWriter, _ *http.Request) { WriteJSON(w, s.Calls()) })
	a.Serve("POST /simulator/faults", Accept(a, s.AddFault))
	a.Serve("DELETE /simulator/faults", Do(s.ClearFaults))
	a.Serve("POST /simulator/chaos", Accept(a, s.StartChaos))
	a.Serve("DELETE /simulator/chaos", Do(s.StopChaos))
	return a
}

// Serve one more.
func (a *Admin) Serve(pattern string, handler http.HandlerFunc) {
	a.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if !fromLoopback(r) {
			a.fail(w, r, &Refusal{Status: http.StatusForbidden, Message: "only for loopback clients"})
			return
		}
		handler(w, r)
	})
}

// Accept does what the body of a request says.
func Accept[T any](a *Admin, do func(T) error) http.HandlerFunc {
	return Answer(a, func(body T) (any, error) { return nil, do(body) })
}

// Answer is Accept with an answer; none is 204.
func Answer[T any](a *Admin, do func(T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body T
		err := readJSON(w, r, &body)
		if err == nil {
			var answer any
			if answer, err = do(body); err == nil && answer != nil {
				WriteJSON(w, answer)
				return
			}
		}
		if err != nil {
			a.fail(w, r, &Refusal{Status: http.StatusBadRequest, Message: err.Error()})
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// Do does something that needs nothing said.
func Do(work func()) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		work()
		w.WriteHeader(http.StatusNoContent)
	}
}

// WriteJSON answers with a value.
func WriteJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the client may be gone
}

func readJSON(w http.ResponseWriter, r *http.Request, value any) error {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	var text json.RawMessage
	err := decoder.Decode(&text)
	if err == nil && string(text) == "null" {
		err = errors.New("null")
	}
	if err == nil {
		if _, more := decoder.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows it")
		}
	}
	if err == nil {
		decoder = json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(value)
	}
	if err != nil {
		return errors.New("not the expected JSON: " + err.Error())
	}
	return nil
}

func fromLoopback(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
