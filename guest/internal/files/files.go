// Package files serves the file calls of a sandbox, in two scopes: the workspace, which no path and no link
// can leave, and the whole sandbox, with the permissions of the guest's user.
package files

import (
	"os"
	"path/filepath"
	"strings"

	"geode/guest/internal/fault"
)

const longestPath = 4096

// Files is the file system of a claimed sandbox.
type Files struct {
	workdir string
	root    place
}

// New makes a blank one; Open binds it to a workdir.
func New() *Files { return &Files{} }

// Open creates the workdir if it is missing and keeps it open, so a later replacement at its path has no effect.
func (f *Files) Open(workdir string) error {
	workdir = filepath.Clean(workdir)
	if err := os.MkdirAll(workdir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(workdir)
	if err != nil {
		return err
	}
	f.workdir, f.root = workdir, root
	if followsLinks() {
		f.root = checkedRoot{root}
	}
	return nil
}

// Workdir is where relative paths begin.
func (f *Files) Workdir() string { return f.workdir }

// A Target is a path in a scope.
type Target struct {
	Path   string // absolute and clean, as answers show it
	place  place
	name   string // what the place takes
	strict bool   // of the workspace
	files  *Files
}

// At resolves a path to its place. It does not check whether the file exists.
func (f *Files) At(path, scope string) (Target, error) {
	switch {
	case path == "":
		return Target{}, fault.New(fault.InvalidPath, "the path is empty")
	case strings.ContainsRune(path, 0):
		return Target{}, fault.New(fault.InvalidPath, "the path has a NUL byte")
	case len(path) > longestPath:
		return Target{}, fault.New(fault.InvalidPath, "the path is longer than %d bytes", longestPath)
	}
	absolute := path
	if !strings.HasPrefix(path, "/") {
		absolute = f.workdir + "/" + path
	}
	target := Target{Path: filepath.Clean(absolute), files: f}
	switch scope {
	case "sandbox":
		target.place, target.name = sandbox{}, absolute
	case "workspace", "":
		inside, below := strings.CutPrefix(absolute, f.workdir)
		if !below || (inside != "" && inside[0] != '/' && f.workdir != "/") {
			return Target{}, fault.New(fault.InvalidPath, "%s is outside the workspace %s", path, f.workdir)
		}
		target.place, target.strict = f.root, true
		if target.name = strings.TrimLeft(inside, "/"); target.name == "" {
			target.name = "."
		}
	default:
		return Target{}, fault.New(fault.InvalidInput, "scope is %q, not workspace or sandbox", scope)
	}
	return target, nil
}

// sibling is a target of the same scope.
func (t Target) sibling(path string) (Target, error) {
	scope := "sandbox"
	if t.strict {
		scope = "workspace"
	}
	return t.files.At(path, scope)
}

// split opens the folder that a target is in and gives the last part of its name, for calls that act on a
// folder's entry without following it.
func (t Target) split() (*os.File, string, error) {
	name := strings.TrimRight(t.name, "/")
	slash := strings.LastIndexByte(name, '/')
	last := name[slash+1:]
	if last == "" || last == "." || last == ".." {
		return nil, "", fault.New(fault.InvalidPath, "%s does not name an entry of a folder", t.Path)
	}
	parent := "."
	if slash >= 0 {
		parent = name[:slash+1]
	}
	folder, err := openFolder(t.place, parent)
	return folder, last, err
}

// makeParents makes the folders that lead to a target.
func (t Target) makeParents() error {
	name := strings.TrimRight(t.name, "/")
	slash := strings.LastIndexByte(name, '/')
	if slash <= 0 {
		return nil
	}
	return t.place.MkdirAll(name[:slash], 0o755)
}
