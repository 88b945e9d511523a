package workspace

import (
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// System calls on the entries of an open folder. A name is always one part of a path, and none of the calls
// follows a link in its place: whatever happens to names meanwhile, nothing leads out of the folder. Plain
// descriptors, since an os.File for each of many thousands of entries would cost more than the work itself.

const (
	atFdcwd           = -100
	atSymlinkNofollow = 0x100
	atSymlinkFollow   = 0x400
	atRemoveFolder    = 0x200
	oPath             = 0x200000
	oNoatime          = 0x40000
	utimeOmit         = 1<<30 - 2
	ioctlClone        = 0x40049409
	seekData          = 3
	seekHole          = 4
	punchHole         = 3 // and keep the size

	longestLink  = 4096
	forWriting   = syscall.O_RDWR | syscall.O_CREAT | syscall.O_EXCL
	asFolder     = syscall.O_RDONLY | syscall.O_DIRECTORY
	neverFollow  = syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_CLOEXEC
	readBufBytes = 32 << 10
)

func openAt(folder int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := syscall.Openat(folder, name, flags|neverFollow, mode)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// openFile opens for reading and, where it may, without leaving a trace of that in the file's times.
func openFile(folder int, name string) (int, error) {
	fd, err := openAt(folder, name, syscall.O_RDONLY|oNoatime, 0)
	if err == syscall.EPERM {
		return openAt(folder, name, syscall.O_RDONLY, 0)
	}
	return fd, err
}

func statAt(folder int, name string, into *syscall.Stat_t) error {
	path, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall6(sysFstatat, uintptr(folder), uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(into)), atSymlinkNofollow, 0, 0)
	return orNil(errno)
}

func readlinkAt(folder int, name string) (string, error) {
	buffer := make([]byte, longestLink)
	var length uintptr
	err := at(name, func(path unsafe.Pointer) (errno syscall.Errno) {
		length, _, errno = syscall.Syscall6(syscall.SYS_READLINKAT, uintptr(folder), uintptr(path), uintptr(unsafe.Pointer(&buffer[0])), longestLink, 0, 0)
		return errno
	})
	if err != nil {
		return "", err
	}
	return string(buffer[:length]), nil
}

func mkdirAt(folder int, name string) error {
	return at(name, func(path unsafe.Pointer) syscall.Errno {
		_, _, errno := syscall.Syscall(syscall.SYS_MKDIRAT, uintptr(folder), uintptr(path), 0o700)
		return errno
	})
}

func unlinkAt(folder int, name string, flags uintptr) error {
	return at(name, func(path unsafe.Pointer) syscall.Errno {
		_, _, errno := syscall.Syscall(syscall.SYS_UNLINKAT, uintptr(folder), uintptr(path), flags)
		return errno
	})
}

func symlinkAt(target string, folder int, name string) error {
	return at2(target, name, func(text, path unsafe.Pointer) syscall.Errno {
		_, _, errno := syscall.Syscall(syscall.SYS_SYMLINKAT, uintptr(text), uintptr(folder), uintptr(path))
		return errno
	})
}

func renameAt(from int, name string, to int, newName string) error {
	return at2(name, newName, func(old, as unsafe.Pointer) syscall.Errno {
		_, _, errno := syscall.Syscall6(syscall.SYS_RENAMEAT, uintptr(from), uintptr(old), uintptr(to), uintptr(as), 0, 0)
		return errno
	})
}

// linkFile gives an open file one more name.
func linkFile(fd int, folder int, name string) error {
	return at2(procPath(fd), name, func(old, as unsafe.Pointer) syscall.Errno {
		cwd := atFdcwd
		_, _, errno := syscall.Syscall6(syscall.SYS_LINKAT, uintptr(cwd), uintptr(old), uintptr(folder), uintptr(as), atSymlinkFollow, 0)
		return errno
	})
}

// chmodFolder works on a folder that may not be entered: it is held by a descriptor that needs no permission,
// and that is what the path in /proc leads to.
func chmodFolder(folder int, name string, mode uint32) error {
	fd, err := openAt(folder, name, oPath|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return syscall.Chmod(procPath(fd), mode)
}

func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func chownAt(folder int, name string, uid, gid uint32) error {
	return syscall.Fchownat(folder, name, int(uid), int(gid), atSymlinkNofollow)
}

// touchAt sets the time of the last change; that of the last reading stays.
func touchAt(folder int, name string, mtime syscall.Timespec) error {
	times := [2]syscall.Timespec{{Nsec: utimeOmit}, mtime}
	return at(name, func(path unsafe.Pointer) syscall.Errno {
		_, _, errno := syscall.Syscall6(syscall.SYS_UTIMENSAT, uintptr(folder), uintptr(path), uintptr(unsafe.Pointer(&times)), atSymlinkNofollow, 0, 0)
		return errno
	})
}

func touch(fd int, mtime syscall.Timespec) error {
	times := [2]syscall.Timespec{{Nsec: utimeOmit}, mtime}
	_, _, errno := syscall.Syscall6(syscall.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
	return orNil(errno)
}

// clone makes a file share the blocks of another, where the file system can.
func clone(from, to int) bool {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(to), ioctlClone, uintptr(from))
	return errno == 0
}

func copyFileRange(from int, fromOffset int64, to int, toOffset, length int64) (int64, error) {
	n, _, errno := syscall.Syscall6(sysCopyFileRange, uintptr(from), uintptr(unsafe.Pointer(&fromOffset)), uintptr(to), uintptr(unsafe.Pointer(&toOffset)), uintptr(length), 0)
	return int64(n), orNil(errno)
}

// namesIn lists a folder.
func namesIn(fd int, buffer []byte) ([]string, error) {
	var names []string
	for {
		n, err := syscall.ReadDirent(fd, buffer)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return names, err
		}
		if len(names) > mostEntries {
			return nil, errTooMany
		}
		_, _, names = syscall.ParseDirent(buffer[:n], -1, names)
	}
}

func at(name string, call func(path unsafe.Pointer) syscall.Errno) error {
	return at2(name, "", func(path, _ unsafe.Pointer) syscall.Errno { return call(path) })
}

func at2(first, second string, call func(first, second unsafe.Pointer) syscall.Errno) error {
	one, err := syscall.BytePtrFromString(first)
	if err != nil {
		return err
	}
	two, err := syscall.BytePtrFromString(second)
	if err != nil {
		return err
	}
	for {
		errno := call(unsafe.Pointer(one), unsafe.Pointer(two))
		if errno != syscall.EINTR {
			return orNil(errno)
		}
	}
}

func orNil(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

var root = os.Geteuid() == 0
