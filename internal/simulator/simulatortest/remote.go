package simulatortest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"
)

// answerTimeout is for one answer; a simulator that hangs is an error.
const answerTimeout = time.Minute

// Remote is a simulator in another process: the outside world's own interface, which no provider uses.
type Remote struct{ URL string }

// Calls so far, by operation.
func (r Remote) Calls(ctx context.Context) (calls map[string]int, err error) {
	return calls, r.Ask(ctx, http.MethodGet, "calls", nil, &calls)
}

// Writes are those of calls, by operation, that make, change or delete something.
func Writes(calls map[string]int) map[string]int {
	writes := map[string]int{}
	for operation, n := range calls {
		if !readsOnly.MatchString(operation) {
			writes[operation] = n
		}
	}
	return writes
}

// readsOnly matches operations, with or without their service, that change nothing for their client.
var readsOnly = regexp.MustCompile(`^(\w+\.)?(get|list|head|createToken)`)

// Ask uses one of the simulator's switches. Answer may be nil.
func (r Remote) Ask(ctx context.Context, method, path string, body, answer any) error {
	if err := r.ask(ctx, method, path, body, answer); err != nil {
		return fmt.Errorf("ask the simulator: %s %s: %w", method, path, err)
	}
	return nil
}

func (r Remote) ask(ctx context.Context, method, path string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, r.URL+"/simulator/"+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s: %s", response.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}
