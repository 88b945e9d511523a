package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"geode/guest/internal/fault"
)

// merging moves a staged tree into a folder: what is new goes as a whole, folders that are there are gone
// into, files are replaced.
type merging struct {
	ctx       context.Context
	unpacking *unpacking
}

// folder moves the entries of one staged folder. With check it only looks whether all of them can go where
// they belong, so that a conflict is found before anything has moved.
func (m *merging) folder(from, to *os.File, path string, check bool) error {
	if _, err := from.Seek(0, 0); err != nil {
		return err
	}
	walk := walk{ctx: m.ctx, depth: 1, visit: func(e entry) (bool, error) {
		there, err := statAt(to, e.name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		inner := path + e.name
		if err != nil {
			return false, m.move(from, to, e, inner, check)
		}
		if isFolder(e.raw) != isFolder(there) {
			return false, fault.New(fault.FileExists, "%s is a %s in the archive and a %s in its place", inner, typeOf(e.raw), typeOf(there))
		}
		if isFolder(e.raw) {
			return false, m.into(from, to, e.name, inner, check)
		}
		return false, m.move(from, to, e, inner, check)
	}}
	return walk.run(from)
}

func (m *merging) move(from, to *os.File, e entry, path string, check bool) error {
	if check {
		return nil
	}
	if err := renameAt(from, e.name, to, e.name, true); err != nil {
		return err
	}
	if !isFolder(e.raw) {
		return nil
	}
	folder, err := openFolderAt(to, e.name)
	if err != nil {
		return err
	}
	defer folder.Close()
	return m.finish(folder, to, e.name, path)
}

// finish gives new folders the modes and times of the archive, inner ones first.
func (m *merging) finish(folder, parent *os.File, name, path string) error {
	walk := walk{ctx: m.ctx, depth: 1, visit: func(e entry) (bool, error) {
		if !isFolder(e.raw) {
			return false, nil
		}
		inner, err := openFolderAt(folder, e.name)
		if err != nil {
			return false, err
		}
		defer inner.Close()
		return false, m.finish(inner, folder, e.name, path+"/"+e.name)
	}}
	if err := walk.run(folder); err != nil {
		return err
	}
	header := m.unpacking.folders[path]
	if header == nil {
		return nil
	}
	if err := folder.Chmod(fileMode(uint32(header.Mode) & 0o777)); err != nil {
		return err
	}
	return touchAt(parent, name, syscall.NsecToTimespec(header.ModTime.UnixNano()))
}

func (m *merging) into(from, to *os.File, name, path string, check bool) error {
	source, err := openFolderAt(from, name)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := openFolderAt(to, name)
	if err != nil {
		return err
	}
	defer target.Close()
	return m.folder(source, target, path+"/", check)
}

// procPath is a name for an open folder.
func procPath(file *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(file.Fd())) }
