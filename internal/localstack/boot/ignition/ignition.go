// Package ignition reads user data as Ignition does on a machine's first boot: it fetches the configurations that it points to, and
// makes of all of them what cloud-init's user data says too. Only files and the units that are enabled are read.
package ignition

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"

	"github.com/bedplate/bedplate/internal/localstack/boot/cloudinit"
)

const (
	defaultMode fs.FileMode = 0o644
	// maxDepth bounds configurations that point to each other.
	maxDepth = 8
)

// versions of the specification that machines are shipped with. Flatcar's Ignition reads both majors, whatever points to them.
var versions = []string{"2.2.0", "2.3.0", "2.4.0", "3.0.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0"}

// config is the part of Ignition's configuration that machines for Kubernetes use, of both majors.
type config struct {
	Ignition struct {
		Version string `json:"version"`
		Config  struct {
			Append  []resource `json:"append"` // 2.x
			Merge   []resource `json:"merge"`  // 3.x
			Replace *resource  `json:"replace"`
		} `json:"config"`
	} `json:"ignition"`
	Storage struct {
		Files []file `json:"files"`
	} `json:"storage"`
	Systemd struct {
		Units []unit `json:"units"`
	} `json:"systemd"`
}

type file struct {
	Path     string   `json:"path"`
	Mode     *int     `json:"mode"`
	Append   bool     `json:"append"` // of 2.x; the list of 3.x is an error
	Contents resource `json:"contents"`
}

type unit struct {
	Name     string `json:"name"`
	Enabled  bool   `json:"enabled"`
	Contents string `json:"contents"`
}

// Is reports whether user data is Ignition's and not cloud-init's.
func Is(userData []byte) bool {
	var c config
	return json.Unmarshal(userData, &c) == nil && c.Ignition.Version != ""
}

// Parse reads user data and all that it points to. The commands that run are those of the enabled units: the text of a script if it is
// one of the files, otherwise the command itself. No error has the query of a URL in it, where a signature may be.
func Parse(ctx context.Context, userData []byte) (*cloudinit.Config, error) {
	whole, err := parse(ctx, userData, maxDepth)
	if err != nil {
		return nil, fmt.Errorf("ignition: %w", err)
	}
	result := &cloudinit.Config{}
	for _, f := range whole.Storage.Files {
		written, err := f.fetch(ctx)
		if err != nil {
			return nil, fmt.Errorf("ignition: file %s: %w", f.Path, err)
		}
		result.Files = append(result.Files, written)
	}
	for _, u := range whole.Systemd.Units {
		result.RunCommands = append(result.RunCommands, u.commands(result.Files)...)
	}
	return result, nil
}

func parse(ctx context.Context, data []byte, depth int) (*config, error) {
	c := &config{}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("parse configuration: %w", err)
	}
	if !slices.Contains(versions, c.Ignition.Version) {
		return nil, fmt.Errorf("version %q is not supported", c.Ignition.Version)
	}
	if depth == 0 {
		return nil, errors.New("configurations point to each other")
	}
	if replacement := c.Ignition.Config.Replace; replacement != nil && replacement.Source != "" {
		return follow(ctx, *replacement, depth)
	}
	for _, r := range slices.Concat(c.Ignition.Config.Append, c.Ignition.Config.Merge) {
		more, err := follow(ctx, r, depth)
		if err != nil {
			return nil, err
		}
		c.Storage.Files = append(c.Storage.Files, more.Storage.Files...)
		c.Systemd.Units = append(c.Systemd.Units, more.Systemd.Units...)
	}
	return c, nil
}

func follow(ctx context.Context, r resource, depth int) (*config, error) {
	data, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	return parse(ctx, data, depth-1)
}

func (f file) fetch(ctx context.Context) (cloudinit.File, error) {
	content, err := f.Contents.read(ctx)
	written := cloudinit.File{Path: f.Path, Content: content, Mode: defaultMode, Append: f.Append}
	if f.Mode != nil {
		written.Mode = fs.FileMode(*f.Mode).Perm() //nolint:gosec // as JSON has it: 420 is 0644
	}
	return written, err
}

var execStart = regexp.MustCompile(`(?m)^ExecStart=(?:\S*/(?:ba)?sh\s+)?(.+)$`)

// commands that an enabled unit runs. One without contents is a unit that the machine has anyway.
func (u unit) commands(files []cloudinit.File) (all []string) {
	if !u.Enabled {
		return nil
	}
	for _, match := range execStart.FindAllStringSubmatch(u.Contents, -1) {
		command := match[1]
		if i := slices.IndexFunc(files, func(f cloudinit.File) bool { return f.Path == command }); i >= 0 {
			command = string(files[i].Content)
		}
		all = append(all, command)
	}
	return all
}
