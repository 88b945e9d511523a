package processes

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"geode/guest/internal/fault"
	"geode/guest/internal/spawn"
)

// A Spec is what the host asks to start.
type Spec struct {
	ID        string              `json:"id"`
	Argv      []string            `json:"argv"`
	Cwd       string              `json:"cwd"`
	Env       map[string]*string  `json:"env"` // null takes a variable of the base environment away
	User      string              `json:"user"`
	TimeoutMs float64             `json:"timeoutMs"`
	Stdin     string              `json:"stdin"`
	Pty       *Size               `json:"pty"`
	Rlimits   map[string][2]int64 `json:"rlimits"`
	Files     map[string][]byte   `json:"files"`   // written to the workspace before the start
	Sole      bool                `json:"sole"`    // its exit ends everything in the sandbox but the guest
	Opening   []byte              `json:"opening"` // what the prepared program reads first, to become this command
}

// Defaults are what every command of a sandbox shares. They come with the first claim.
type Defaults struct {
	Env     map[string]string
	Workdir string
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ParseSpec reads and checks a spec frame.
func ParseSpec(payload []byte) (*Spec, error) {
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.DisallowUnknownFields()
	spec := &Spec{}
	if err := decoder.Decode(spec); err != nil {
		return nil, fault.New(fault.InvalidInput, "the spec cannot be read: %s", err)
	}
	switch {
	case !idPattern.MatchString(spec.ID):
		return nil, fault.New(fault.InvalidInput, "the id %q is not 1 to 64 of A-Z a-z 0-9 _ -", spec.ID)
	case len(spec.Argv) == 0:
		return nil, fault.New(fault.InvalidInput, "argv is empty")
	case spec.Stdin != "" && spec.Stdin != "none" && spec.Stdin != "open":
		return nil, fault.New(fault.InvalidInput, "stdin is %q, not none or open", spec.Stdin)
	case spec.TimeoutMs < 0 || spec.TimeoutMs > math.MaxInt64/1e6:
		return nil, fault.New(fault.InvalidInput, "timeoutMs is %g", spec.TimeoutMs)
	}
	return spec, nil
}

func (s *Spec) timeout() time.Duration {
	return time.Duration(s.TimeoutMs * float64(time.Millisecond))
}

// command makes what spawn needs of a spec, except for the descriptors.
func (s *Spec) command(defaults Defaults) (*spawn.Command, error) {
	identity, err := spawn.Lookup(s.User)
	if err != nil {
		return nil, err
	}
	limits, err := spawn.Limits(s.Rlimits)
	if err != nil {
		return nil, err
	}
	env, err := s.environment(defaults.Env, identity)
	if err != nil {
		return nil, err
	}
	dir := s.Cwd
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(defaults.Workdir, dir)
	}
	return &spawn.Command{
		Argv:     s.Argv,
		Env:      env,
		Dir:      dir,
		Terminal: s.Pty != nil,
		Identity: identity,
		Limits:   limits,
	}, nil
}

func (s *Spec) environment(base map[string]string, identity *spawn.Identity) ([]string, error) {
	merged := make(map[string]string, len(base)+len(s.Env))
	for name, value := range base {
		merged[name] = value
	}
	if identity != nil && identity.Home != "" {
		merged["HOME"] = identity.Home
	}
	for name, value := range s.Env {
		if value == nil {
			delete(merged, name)
		} else {
			merged[name] = *value
		}
	}
	env := make([]string, 0, len(merged))
	for name, value := range merged {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return nil, fault.New(fault.InvalidInput, "env: %q is not a name, or its value has a NUL byte", name)
		}
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, nil
}
