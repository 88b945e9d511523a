package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"geode/guest/internal/fault"
)

// An entry is one thing below the folder that is walked.
type entry struct {
	folder *os.File // that it is in
	name   string
	path   string // from the walked folder on
	raw    *syscall.Stat_t
}

var errEnough = errors.New("enough")

// A walk goes through a folder by descriptors, so no change of names during the walk leads it out of
// the folder. Links are entries like any other and are never followed.
type walk struct {
	ctx   context.Context
	depth int // how many levels; 0: all
	// patient passes over folders that cannot be read; otherwise they end the walk.
	patient bool
	// top is the path of the walked folder, which errors then name.
	top string
	// visit sees each entry, sorted by name, a folder before what is in it. It says whether to go into a
	// folder; errEnough ends the walk.
	visit func(entry) (bool, error)
}

func (w *walk) run(folder *os.File) error {
	err := w.into(folder, "", 1)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (w *walk) into(folder *os.File, path string, level int) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	names, err := folder.Readdirnames(-1)
	if err != nil && !w.patient {
		return w.at(path, err)
	}
	slices.Sort(names)
	for _, name := range names {
		raw, err := statAt(folder, name)
		if errors.Is(err, fs.ErrNotExist) || (err != nil && w.patient) {
			continue // removed during the walk
		}
		if err != nil {
			return w.at(path+name, err)
		}
		enter, err := w.visit(entry{folder, name, path + name, raw})
		if err != nil {
			return err
		}
		if !enter || !isFolder(raw) || level == w.depth {
			continue
		}
		if err := w.below(folder, name, path, level); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) below(folder *os.File, name, path string, level int) error {
	inner, err := openFolderAt(folder, name)
	if err != nil {
		if w.patient || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return w.at(path+name, err)
	}
	defer inner.Close()
	return w.into(inner, path+name+"/", level+1)
}

func (w *walk) at(path string, err error) error {
	if w.top == "" {
		return err
	}
	return fault.At(joinPath(w.top, path), err)
}

func (e entry) link() string {
	if !isLink(e.raw) {
		return ""
	}
	target, _ := readlinkAt(e.folder, e.name)
	return target
}
