package files

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// System calls relative to an open folder that package syscall does not offer. None of them follows a link
// in the last place.

const (
	atSymlinkNofollow = 0x100
	atRemoveFolder    = 0x200
	renameNoReplace   = 1
	utimeOmit         = 1<<30 - 2
)

// openAt opens an entry of a folder. It neither follows a link nor waits for a pipe's other end.
func openAt(folder *os.File, name string, flags int, mode uint32) (*os.File, error) {
	flags |= syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_CLOEXEC
	for {
		fd, err := syscall.Openat(int(folder.Fd()), name, flags, mode)
		runtime.KeepAlive(folder)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: name, Err: err}
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

func statAt(folder *os.File, name string) (*syscall.Stat_t, error) {
	stat := &syscall.Stat_t{}
	err := at("stat", folder, name, func(fd, path uintptr) syscall.Errno {
		_, _, errno := syscall.Syscall6(sysFstatat, fd, path, uintptr(unsafe.Pointer(stat)), atSymlinkNofollow, 0, 0)
		return errno
	})
	return stat, err
}

func readlinkAt(folder *os.File, name string) (string, error) {
	buffer := make([]byte, longestPath)
	var length uintptr
	err := at("readlink", folder, name, func(fd, path uintptr) (errno syscall.Errno) {
		length, _, errno = syscall.Syscall6(syscall.SYS_READLINKAT, fd, path, uintptr(unsafe.Pointer(&buffer[0])), uintptr(len(buffer)), 0, 0)
		return errno
	})
	if err != nil {
		return "", err
	}
	return string(buffer[:length]), nil
}

func mkdirAt(folder *os.File, name string, mode uint32) error {
	return at("mkdir", folder, name, func(fd, path uintptr) syscall.Errno {
		_, _, errno := syscall.Syscall(syscall.SYS_MKDIRAT, fd, path, uintptr(mode))
		return errno
	})
}

func removeAt(folder *os.File, name string, flags uintptr) error {
	return at("remove", folder, name, func(fd, path uintptr) syscall.Errno {
		_, _, errno := syscall.Syscall(syscall.SYS_UNLINKAT, fd, path, flags)
		return errno
	})
}

func symlinkAt(target string, folder *os.File, name string) error {
	text, err := syscall.BytePtrFromString(target)
	if err != nil {
		return &os.PathError{Op: "symlink", Path: target, Err: err}
	}
	return at("symlink", folder, name, func(fd, path uintptr) syscall.Errno {
		_, _, errno := syscall.Syscall(syscall.SYS_SYMLINKAT, uintptr(unsafe.Pointer(text)), fd, path)
		return errno
	})
}

// touchAt sets the time of the last change; that of the last reading stays.
func touchAt(folder *os.File, name string, mtime syscall.Timespec) error {
	times := [2]syscall.Timespec{{Nsec: utimeOmit}, mtime}
	return at("utimes", folder, name, func(fd, path uintptr) syscall.Errno {
		_, _, errno := syscall.Syscall6(syscall.SYS_UTIMENSAT, fd, path, uintptr(unsafe.Pointer(&times)), atSymlinkNofollow, 0, 0)
		return errno
	})
}

// renameAt moves an entry. Without overwrite an existing one stays and the error is EEXIST, also where the
// file system cannot promise that in one step.
func renameAt(from *os.File, name string, to *os.File, as string, overwrite bool) error {
	flags := uintptr(renameNoReplace)
	if overwrite {
		flags = 0
	}
	err := rename(from, name, to, as, flags)
	if err == nil || overwrite || (!isErrno(err, syscall.EINVAL) && !isErrno(err, syscall.ENOSYS)) {
		return err
	}
	if _, found := statAt(to, as); found == nil {
		return &os.LinkError{Op: "rename", Old: name, New: as, Err: syscall.EEXIST}
	}
	return rename(from, name, to, as, 0)
}

func rename(from *os.File, name string, to *os.File, as string, flags uintptr) error {
	target, err := syscall.BytePtrFromString(as)
	if err != nil {
		return &os.PathError{Op: "rename", Path: as, Err: err}
	}
	defer runtime.KeepAlive(to)
	return at("rename", from, name, func(fd, path uintptr) syscall.Errno {
		_, _, errno := syscall.Syscall6(sysRenameat2, fd, path, to.Fd(), uintptr(unsafe.Pointer(target)), flags, 0)
		return errno
	})
}

func at(op string, folder *os.File, name string, call func(fd, path uintptr) syscall.Errno) error {
	path, err := syscall.BytePtrFromString(name)
	if err != nil {
		return &os.PathError{Op: op, Path: name, Err: err}
	}
	for {
		errno := call(folder.Fd(), uintptr(unsafe.Pointer(path)))
		runtime.KeepAlive(folder)
		runtime.KeepAlive(path)
		if errno == 0 {
			return nil
		}
		if errno != syscall.EINTR {
			return &os.PathError{Op: op, Path: name, Err: errno}
		}
	}
}
