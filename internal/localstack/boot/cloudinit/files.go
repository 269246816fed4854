package cloudinit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// maxUnpacked bounds what gzipped data may become, in bytes.
const maxUnpacked = 16 << 20

const defaultMode fs.FileMode = 0o644

// File is one entry of write_files, decoded.
type File struct {
	Path    string // absolute on the machine
	Content []byte
	Mode    fs.FileMode
	Append  bool
}

// Write writes the file below the machine's root folder. No path leads out of it.
func (f File) Write(root *os.Root) error {
	name := OnDisk(f.Path)
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if f.Append {
		flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	file, err := root.OpenFile(name, flags, f.Mode)
	if err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	_, err = file.Write(f.Content)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	return nil
}

// OnDisk turns an absolute path on the machine into one relative to the machine's root folder.
func OnDisk(name string) string {
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}

func (w writeFile) decode() (File, error) {
	if OnDisk(w.Path) == "" {
		return File{}, errors.New("no path of a file")
	}
	mode, err := parseMode(w.Permissions)
	if err != nil {
		return File{}, err
	}
	content, err := decode(w.Encoding, w.Content)
	if err != nil {
		return File{}, err
	}
	return File{Path: w.Path, Content: content, Mode: mode, Append: w.Append}, nil
}

func parseMode(permissions intstr.IntOrString) (fs.FileMode, error) {
	octal := permissions.StrVal
	if permissions.Type == intstr.Int { // YAML has read the octal number already
		octal = strconv.FormatInt(int64(permissions.IntVal), 8)
	}
	switch octal {
	case "", "0": // not given
		return defaultMode, nil
	}
	mode, err := strconv.ParseUint(octal, 8, 16)
	if err != nil {
		return 0, fmt.Errorf("permissions %q: not an octal number", octal)
	}
	return fs.FileMode(mode).Perm(), nil
}

func decode(encoding, content string) ([]byte, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "text/plain":
		return []byte(content), nil
	case "b64", "base64":
		return unbase64(content)
	case "gz", "gzip":
		return Gunzip([]byte(content))
	case "gz+b64", "gz+base64", "gzip+b64", "gzip+base64":
		packed, err := unbase64(content)
		if err != nil {
			return nil, err
		}
		return Gunzip(packed)
	default:
		return nil, fmt.Errorf("unknown encoding %q", encoding)
	}
}

func unbase64(content string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(content), ""))
	if err != nil {
		return nil, fmt.Errorf("decode base64: %w", err)
	}
	return data, nil
}

// Gunzip unpacks up to 16 MiB.
func Gunzip(packed []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack gzip: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(reader, maxUnpacked+1))
	if err != nil {
		return nil, fmt.Errorf("unpack gzip: %w", err)
	}
	if len(data) > maxUnpacked {
		return nil, fmt.Errorf("unpack gzip: more than %d bytes", maxUnpacked)
	}
	return data, nil
}
