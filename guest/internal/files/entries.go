package files

import (
	"os"
	"runtime"
	"syscall"

	"geode/guest/internal/at"
)

// The calls of package at, on folders that are an os.File and with errors that name the entry.

func openAt(folder *os.File, name string, flags int, mode uint32) (*os.File, error) {
	var opened int
	err := on("open", folder, name, func(fd int) (err error) {
		opened, err = at.Open(fd, name, flags, mode)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(opened), name), nil
}

func openFolderAt(folder *os.File, name string) (*os.File, error) {
	return openAt(folder, name, at.AsFolder, 0)
}

func statAt(folder *os.File, name string) (*syscall.Stat_t, error) {
	stat := &syscall.Stat_t{}
	return stat, on("stat", folder, name, func(fd int) error { return at.Stat(fd, name, stat) })
}

func readlinkAt(folder *os.File, name string) (target string, err error) {
	err = on("readlink", folder, name, func(fd int) (err error) {
		target, err = at.Readlink(fd, name)
		return err
	})
	return target, err
}

func mkdirAt(folder *os.File, name string) error {
	return on("mkdir", folder, name, func(fd int) error { return at.Mkdir(fd, name) })
}

func removeAt(folder *os.File, name string, flags uintptr) error {
	return on("remove", folder, name, func(fd int) error { return at.Remove(fd, name, flags) })
}

func symlinkAt(target string, folder *os.File, name string) error {
	return on("symlink", folder, name, func(fd int) error { return at.Symlink(target, fd, name) })
}

func touchAt(folder *os.File, name string, mtime syscall.Timespec) error {
	return on("utimes", folder, name, func(fd int) error { return at.Touch(fd, name, mtime) })
}

// renameAt moves an entry. Without overwrite an existing one stays and the error is EEXIST.
func renameAt(from *os.File, name string, to *os.File, as string, overwrite bool) error {
	defer runtime.KeepAlive(to)
	move := at.RenameNew
	if overwrite {
		move = at.Rename
	}
	return on("rename", from, name, func(fd int) error { return move(fd, name, int(to.Fd()), as) })
}

func on(op string, folder *os.File, name string, call func(fd int) error) error {
	defer runtime.KeepAlive(folder)
	if err := call(int(folder.Fd())); err != nil {
		return &os.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}
