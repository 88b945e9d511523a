// Package at makes system calls on the entries of an open folder that package syscall does not offer. A name is always one part of a path, and no
// call follows a link in its place: even if names change during the call, nothing leads out of the folder. Folders
// are plain descriptors, since an os.File for each of many thousands of entries would cost more than the work
// itself. Errors are the kernel's numbers.
package at

import (
	"strconv"
	"syscall"
	"unsafe"
)

const (
	// AsFolder opens a folder for reading.
	AsFolder = syscall.O_RDONLY | syscall.O_DIRECTORY
	// ForWriting makes a new file.
	ForWriting = syscall.O_RDWR | syscall.O_CREAT | syscall.O_EXCL
	// NeverFollow refuses a link, and waits neither for a pipe's other end nor for a terminal.
	NeverFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_CLOEXEC
	// SeekData and SeekHole find where a file has data, and where it has none.
	SeekData = 3
	SeekHole = 4
	// RemoveFolder makes Remove take an empty folder instead of a file.
	RemoveFolder = 0x200

	fdcwd           = -100
	symlinkNofollow = 0x100
	symlinkFollow   = 0x400
	openPath        = 0x200000
	openNoatime     = 0x40000
	renameNoReplace = 1
	renameExchange  = 2
	utimeOmit       = 1<<30 - 2
	ioctlClone      = 0x40049409
	longestLink     = 4096
)

// Open opens an entry, and refuses a link.
func Open(folder int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := syscall.Openat(folder, name, flags|NeverFollow, mode)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// OpenUntraced opens a file for reading and, where it may, without leaving a trace of that in the file's times.
func OpenUntraced(folder int, name string) (int, error) {
	fd, err := Open(folder, name, syscall.O_RDONLY|openNoatime, 0)
	if err == syscall.EPERM {
		return Open(folder, name, syscall.O_RDONLY, 0)
	}
	return fd, err
}

// Stat fills into with what the kernel knows of an entry.
func Stat(folder int, name string, into *syscall.Stat_t) error {
	path, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	for {
		_, _, errno := syscall.Syscall6(sysFstatat, uintptr(folder), uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(into)), symlinkNofollow, 0, 0)
		if errno != syscall.EINTR {
			return orNil(errno)
		}
	}
}

// Readlink gives the target of a link.
func Readlink(folder int, name string) (string, error) {
	buffer := make([]byte, longestLink)
	var length uintptr
	err := with(name, func(path unsafe.Pointer) (errno syscall.Errno) {
		length, _, errno = syscall.Syscall6(syscall.SYS_READLINKAT, uintptr(folder), uintptr(path), uintptr(unsafe.Pointer(&buffer[0])), longestLink, 0, 0)
		return errno
	})
	if err != nil {
		return "", err
	}
	return string(buffer[:length]), nil
}

// Mkdir makes a folder that only its owner may enter.
func Mkdir(folder int, name string) error {
	return with(name, func(path unsafe.Pointer) syscall.Errno {
		_, _, errno := syscall.Syscall(syscall.SYS_MKDIRAT, uintptr(folder), uintptr(path), 0o700)
		return errno
	})
}

// Remove removes a file or a link, or with RemoveFolder an empty folder.
func Remove(folder int, name string, flags uintptr) error {
	return with(name, func(path unsafe.Pointer) syscall.Errno {
		_, _, errno := syscall.Syscall(syscall.SYS_UNLINKAT, uintptr(folder), uintptr(path), flags)
		return errno
	})
}

// Symlink makes a link to target.
func Symlink(target string, folder int, name string) error {
	return withBoth(target, name, func(text, path unsafe.Pointer) syscall.Errno {
		_, _, errno := syscall.Syscall(syscall.SYS_SYMLINKAT, uintptr(text), uintptr(folder), uintptr(path))
		return errno
	})
}

// Rename moves an entry and replaces the entry with the new name.
func Rename(from int, name string, to int, newName string) error {
	return rename(from, name, to, newName, 0)
}

// RenameNew moves an entry to a name that must be free: an existing entry stays and the error is EEXIST, also where the
// file system cannot promise that in one step.
func RenameNew(from int, name string, to int, newName string) error {
	err := rename(from, name, to, newName, renameNoReplace)
	if err != syscall.EINVAL && err != syscall.ENOSYS {
		return err
	}
	if Stat(to, newName, &syscall.Stat_t{}) == nil {
		return syscall.EEXIST
	}
	return Rename(from, name, to, newName)
}

// Exchange swaps two folders of the machine, by their paths, in one step.
func Exchange(one string, other string) error {
	return rename(fdcwd, one, fdcwd, other, renameExchange)
}

func rename(from int, name string, to int, newName string, flags uintptr) error {
	return withBoth(name, newName, func(old, as unsafe.Pointer) syscall.Errno {
		_, _, errno := syscall.Syscall6(sysRenameat2, uintptr(from), uintptr(old), uintptr(to), uintptr(as), flags, 0)
		return errno
	})
}

// Link gives an open file one more name.
func Link(fd int, folder int, name string) error {
	return withBoth(procPath(fd), name, func(old, as unsafe.Pointer) syscall.Errno {
		cwd := fdcwd
		_, _, errno := syscall.Syscall6(syscall.SYS_LINKAT, uintptr(cwd), uintptr(old), uintptr(folder), uintptr(as), symlinkFollow, 0)
		return errno
	})
}

// ChmodFolder works on a folder that may not be entered: a descriptor that needs no permission holds it, and the
// path in /proc leads to what that descriptor holds.
func ChmodFolder(folder int, name string, mode uint32) error {
	fd, err := Open(folder, name, openPath|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return syscall.Chmod(procPath(fd), mode)
}

func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// Chown changes whose an entry is.
func Chown(folder int, name string, uid, gid uint32) error {
	return syscall.Fchownat(folder, name, int(uid), int(gid), symlinkNofollow)
}

// Touch sets the time of the last change; that of the last reading stays.
func Touch(folder int, name string, mtime syscall.Timespec) error {
	times := [2]syscall.Timespec{{Nsec: utimeOmit}, mtime}
	return with(name, func(path unsafe.Pointer) syscall.Errno {
		_, _, errno := syscall.Syscall6(syscall.SYS_UTIMENSAT, uintptr(folder), uintptr(path), uintptr(unsafe.Pointer(&times)), symlinkNofollow, 0, 0)
		return errno
	})
}

// TouchOpen is Touch for an open file.
func TouchOpen(fd int, mtime syscall.Timespec) error {
	times := [2]syscall.Timespec{{Nsec: utimeOmit}, mtime}
	_, _, errno := syscall.Syscall6(syscall.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
	return orNil(errno)
}

// Clone makes an open file share the blocks of another, where the file system can.
func Clone(from, to int) bool {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(to), ioctlClone, uintptr(from))
	return errno == 0
}

// CopyRange copies bytes between open files without bringing them into this process.
func CopyRange(from int, fromOffset int64, to int, toOffset, length int64) (int64, error) {
	n, _, errno := syscall.Syscall6(sysCopyFileRange, uintptr(from), uintptr(unsafe.Pointer(&fromOffset)), uintptr(to), uintptr(unsafe.Pointer(&toOffset)), uintptr(length), 0)
	return int64(n), orNil(errno)
}

func with(name string, call func(path unsafe.Pointer) syscall.Errno) error {
	return withBoth(name, "", func(path, _ unsafe.Pointer) syscall.Errno { return call(path) })
}

func withBoth(first, second string, call func(first, second unsafe.Pointer) syscall.Errno) error {
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
