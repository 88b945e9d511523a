package files

import (
	"io/fs"
	"os"
	"syscall"
)

// A place resolves names. *os.Root is one: it refuses, at every step and without a race, a name or a link
// that leads out of it. Other calls act on the folders that a place has opened, by descriptor.
type place interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	Readlink(name string) (string, error)
	MkdirAll(name string, perm fs.FileMode) error
	Chmod(name string, mode fs.FileMode) error
}

// sandbox is the place without walls: all that the guest's user may touch.
type sandbox struct{}

func (sandbox) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}
func (sandbox) Stat(name string) (fs.FileInfo, error)        { return os.Stat(name) }
func (sandbox) Lstat(name string) (fs.FileInfo, error)       { return os.Lstat(name) }
func (sandbox) Readlink(name string) (string, error)         { return os.Readlink(name) }
func (sandbox) MkdirAll(name string, perm fs.FileMode) error { return os.MkdirAll(name, perm) }
func (sandbox) Chmod(name string, mode fs.FileMode) error    { return os.Chmod(name, mode) }

func openFolder(p place, name string) (*os.File, error) {
	return p.OpenFile(name, syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
}

// fileMode turns permission bits of the kernel into those of package os.
func fileMode(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits & 0o777)
	if bits&syscall.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if bits&syscall.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if bits&syscall.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}
