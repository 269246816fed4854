// Package cloudinit reads user data as cloud-init does on a machine's first boot: it is unpacked, the jinja template is
// rendered with the instance metadata, then the cloud-config below it is parsed. Only write_files, bootcmd and runcmd are
// read.
package cloudinit

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

const (
	jinjaHeader  = "## template: jinja"
	configHeader = "#cloud-config"
)

// Config is what a machine does on its first boot.
type Config struct {
	BootCommands []string // bootcmd: run before the files are written
	Files        []File   // write_files, in order
	RunCommands  []string // runcmd: run at the end; a command given as a list is joined with spaces
}

type document struct {
	BootCmd    []command   `json:"bootcmd"`
	RunCmd     []command   `json:"runcmd"`
	WriteFiles []writeFile `json:"write_files"`
}

type writeFile struct {
	Path        string             `json:"path"`
	Content     string             `json:"content"`
	Encoding    string             `json:"encoding"`
	Permissions intstr.IntOrString `json:"permissions"`
	Append      bool               `json:"append"`
}

// Parse reads user data: plain, gzipped or the only part of MIME multipart, with or without the jinja header, which has to be
// the very first line. Several parts, scripts and jinja beyond variables, comments and raw blocks are errors.
func Parse(userData []byte, metadata map[string]string) (*Config, error) {
	text, err := Text(userData)
	if err != nil {
		return nil, err
	}
	text = strings.TrimLeft(text, " \t\r\n")
	if hasPrefixFold(text, jinjaHeader) {
		_, body, _ := strings.Cut(text, "\n")
		if text, err = render(body, variables(metadata)); err != nil {
			return nil, fmt.Errorf("render the jinja template: %w", err)
		}
	}
	if !hasPrefixFold(text, configHeader) {
		return nil, fmt.Errorf("user data doesn't begin with %q, after an optional line %q", configHeader, jinjaHeader)
	}
	var doc document
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, fmt.Errorf("parse cloud-config: %w", err)
	}
	return doc.config()
}

func hasPrefixFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

func (d document) config() (*Config, error) {
	config := &Config{BootCommands: toStrings(d.BootCmd), RunCommands: toStrings(d.RunCmd)}
	for _, w := range d.WriteFiles {
		file, err := w.decode()
		if err != nil {
			return nil, fmt.Errorf("write_files %q: %w", w.Path, err)
		}
		config.Files = append(config.Files, file)
	}
	return config, nil
}

// command is a shell line, or a list of arguments.
type command string

// UnmarshalJSON accepts both forms.
func (c *command) UnmarshalJSON(data []byte) error {
	var line string
	if err := yaml.Unmarshal(data, &line); err == nil {
		*c = command(line)
		return nil
	}
	var args []string
	if err := yaml.Unmarshal(data, &args); err != nil {
		return errors.New("a command is neither a string nor a list of strings")
	}
	*c = command(strings.Join(args, " "))
	return nil
}

func toStrings(commands []command) []string {
	var lines []string
	for _, c := range commands {
		lines = append(lines, string(c))
	}
	return lines
}
