package workspace

import (
	"crypto/rand"
	"encoding/hex"
	"syscall"

	"geode/guest/internal/at"
)

const (
	deepest      = 200
	mostListings = 100
)

// removeAll removes an entry and all that is below it.
func (a *apply) removeAll(in int, name string, buffer []byte) error {
	r := removal{top: in, buffer: buffer}
	return r.all([]string{name})
}

// A removal holds a descriptor for each level that it is in. Levels have no end, so folders that are too deep
// are moved up first.
type removal struct {
	top    int
	moved  []string
	buffer []byte
}

func (r *removal) all(names []string) error {
	for r.moved = names; len(r.moved) > 0; {
		next := r.moved[len(r.moved)-1]
		r.moved = r.moved[:len(r.moved)-1]
		if err := r.remove(r.top, next, 0); err != nil {
			return err
		}
	}
	return nil
}

func (r *removal) remove(in int, name string, depth int) error {
	err := at.Remove(in, name, 0)
	if err == nil || err == syscall.ENOENT {
		return nil
	}
	if err != syscall.EISDIR {
		return err
	}
	if depth >= deepest {
		if !root {
			_ = at.ChmodFolder(in, name, 0o700)
		}
		up := temporaryName()
		if err := at.Rename(in, name, r.top, up); err != nil {
			return err
		}
		r.moved = append(r.moved, up)
		return nil
	}
	for range mostListings {
		again, err := r.folder(in, name, depth)
		if err != nil || !again {
			return err
		}
	}
	return errChanging
}

// folder returns again if an entry was added to the folder during the removal.
func (r *removal) folder(in int, name string, depth int) (again bool, err error) {
	fd, err := at.Open(in, name, at.AsFolder, 0)
	if err == nil && !root {
		_ = syscall.Fchmod(fd, 0o700)
	}
	if err == syscall.EACCES && !root && at.ChmodFolder(in, name, 0o700) == nil {
		fd, err = at.Open(in, name, at.AsFolder, 0)
	}
	switch err {
	case nil:
	case syscall.ENOENT:
		return false, nil
	case syscall.ENOTDIR, syscall.ELOOP:
		err = at.Remove(in, name, 0)
		return err == syscall.EISDIR, ignore(err, syscall.EISDIR, syscall.ENOENT)
	default:
		return false, err
	}
	names, err := namesIn(fd, r.buffer)
	for _, inner := range names {
		if err == nil {
			err = r.remove(fd, inner, depth+1)
		}
	}
	syscall.Close(fd)
	if err != nil {
		return false, ignore(err, syscall.ENOENT)
	}
	err = at.Remove(in, name, at.RemoveFolder)
	again = err == syscall.ENOTEMPTY || err == syscall.EEXIST || err == syscall.ENOTDIR
	return again, ignore(err, syscall.ENOTEMPTY, syscall.EEXIST, syscall.ENOTDIR, syscall.ENOENT)
}

func ignore(err error, expected ...error) error {
	for _, one := range expected {
		if err == one {
			return nil
		}
	}
	return err
}

func temporaryName() string {
	var random [8]byte
	_, _ = rand.Read(random[:])
	return ".geode-" + hex.EncodeToString(random[:])
}

// emptyFolder removes what a failed fork has made.
func emptyFolder(fd int, buffer []byte) {
	if names, err := namesIn(fd, buffer); err == nil {
		r := removal{top: fd, buffer: buffer}
		_ = r.all(names)
	}
}
