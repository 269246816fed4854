package kubeadm

import (
	"regexp"
	"strings"
)

// Verb is a subcommand of kubeadm.
type Verb string

// The verbs that user data contains.
const (
	VerbInit Verb = "init"
	VerbJoin Verb = "join"
)

// Command is a call of kubeadm in a shell line.
type Command struct {
	Verb     Verb
	Config   string // path of the --config file
	Sentinel string // path that gets the word "success" afterwards; may be empty
}

var (
	// A call stands at the beginning of a line or after a shell operator, perhaps behind a path or sudo.
	call     = regexp.MustCompile(`(?:^|[;&|({]|\n|\bthen\s|\bdo\s|\bsudo\s)\s*(?:\S*/)?kubeadm\s+(init|join)\b([^;&|\n]*)`)
	sentinel = regexp.MustCompile(`&&\s*echo\s+success\s*>\s*(\S+)`)
)

// FindCommand finds a call of "kubeadm init" or "kubeadm join" in a shell line.
func FindCommand(line string) (Command, bool) {
	match := call.FindStringSubmatch(line)
	if match == nil {
		return Command{}, false
	}
	command := Command{Verb: Verb(match[1]), Config: configFlag(strings.Fields(match[2]))}
	if s := sentinel.FindStringSubmatch(line); s != nil {
		command.Sentinel = strings.Trim(s[1], `'"`)
	}
	return command, true
}

func configFlag(args []string) string {
	for i, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--config="); ok {
			return strings.Trim(value, `'"`)
		}
		if arg == "--config" && i+1 < len(args) {
			return strings.Trim(args[i+1], `'"`)
		}
	}
	return ""
}
