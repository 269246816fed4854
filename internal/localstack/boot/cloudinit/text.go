package cloudinit

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"slices"
	"strings"
)

// mimeWithin is how far from the beginning cloud-init looks for what makes user data a MIME message, in bytes.
const mimeWithin = 4096

// partTypes are the content types of parts that say themselves what they are.
var partTypes = []string{"text/jinja2", "text/cloud-config", "text/plain", "text/x-shellscript", "text/cloud-boothook"}

// Text is what cloud-init finds in user data: unpacked, and out of the only part of a MIME message.
func Text(userData []byte) (string, error) {
	text := userData
	if bytes.HasPrefix(userData, []byte{0x1f, 0x8b}) {
		var err error
		if text, err = Gunzip(userData); err != nil {
			return "", fmt.Errorf("user data: %w", err)
		}
	}
	if !bytes.Contains(bytes.ToLower(text[:min(len(text), mimeWithin)]), []byte("mime-version:")) {
		return string(text), nil
	}
	part, err := onlyPart(text)
	if err != nil {
		return "", fmt.Errorf("user data: MIME message: %w", err)
	}
	return part, nil
}

func onlyPart(text []byte) (string, error) {
	message, err := mail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		return "", err
	}
	contentType, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || contentType != "multipart/mixed" {
		return "", fmt.Errorf("it is %q, and only multipart/mixed is supported here", contentType)
	}
	parts := multipart.NewReader(message.Body, params["boundary"])
	part, err := parts.NextRawPart()
	if err != nil {
		return "", err
	}
	content, err := decodePart(part)
	if err != nil {
		return "", err
	}
	if _, err := parts.NextRawPart(); !errors.Is(err, io.EOF) {
		return "", errors.New("more than one part is not supported here")
	}
	return content, nil
}

func decodePart(part *multipart.Part) (string, error) {
	contentType, _, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
	if err != nil || !slices.Contains(partTypes, contentType) {
		return "", fmt.Errorf("a part of type %q is not supported here", contentType)
	}
	var content io.Reader = part
	switch encoding := strings.ToLower(part.Header.Get("Content-Transfer-Encoding")); encoding {
	case "", "7bit":
	case "base64":
		content = base64.NewDecoder(base64.StdEncoding, part)
	default:
		return "", fmt.Errorf("the encoding %q is not supported here", encoding)
	}
	decoded, err := io.ReadAll(content)
	return string(decoded), err
}
