package localstack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bedplate/bedplate/internal/localstack/process"
)

// startSimulator runs `bedplate lab simulate NAME` at a URL, with machines that boot. Other users can't read its world: it has logins.
func (s *Stack) startSimulator(ctx context.Context, name, url string, world map[string]any) error {
	data, err := json.Marshal(world)
	if err != nil {
		return fmt.Errorf("write the simulator's world: %w", err)
	}
	config := filepath.Join(s.cfg.Dir, simulators, name+".json")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		return fmt.Errorf("write the simulator's world: %w", err)
	}
	if err := os.WriteFile(config, data, 0o600); err != nil {
		return fmt.Errorf("write the simulator's world: %w", err)
	}
	return s.start(ctx, process.Command{
		Name: name + "-simulator", Path: s.cfg.Bedplate,
		Args: []string{
			"lab", "simulate", name,
			"--config=" + config,
			"--listen=" + strings.TrimPrefix(url, "http://"),
			"--dir=" + filepath.Join(s.cfg.Dir, "machines"),
			"--tools=" + string(s.cfg.Tools),
		},
	}, answersOK(url+"/simulator/state"))
}
