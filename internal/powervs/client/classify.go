package client

import (
	"errors"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
)

var errSurface = &fault.Error{Class: fault.Transient, Err: errors.New("not there yet")}

func classify(a httpclient.Answer) httpclient.Meaning {
	return httpclient.Meaning{Class: fault.Transient, Text: httpclient.StatusText(a.Status)}
}
