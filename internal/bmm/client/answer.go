package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxBody bounds an answer in bytes. 100 instances with 64 KiB of user data each fit well.
const maxBody = 32 << 20

func readBody(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("read answer: more than %d bytes", maxBody)
	}
	return body, nil
}

// decode doesn't repeat the body in its errors: an instance contains user data.
func decode(body []byte, out any) error {
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("unexpected answer: field %s is of another type", wrongType.Field)
		}
		return errors.New("unexpected answer: not JSON")
	}
	return nil
}

func isWrite(req *http.Request) bool { return req.Method != http.MethodGet }
