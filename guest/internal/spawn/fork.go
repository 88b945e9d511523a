package spawn

import (
	"syscall"
	"unsafe"
)

// The runtime's own hooks around a fork: they keep signals and stack growth away from the child.
//
//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()

// vfork clones the process; the parent's thread waits until the child has called execve or exit.
func vfork(flags uintptr) (pid, errno uintptr)

const (
	setChildSubreaper  = 36
	setNoNewPrivs      = 38
	capabilityDrop     = 24 // PR_CAPBSET_DROP
	capabilityAmbient  = 47
	ambientClearAll    = 4
	capabilityVersion3 = 0x20080522
	lastSignal         = 64
	lastCapability     = 63
	failedExit         = 253
)

// fork starts the child and gives its pid. It is a frame of its own: parent and child share the stack, so
// the parent must not need anything of the frame in which the child works.
//
//go:norace
func fork(c *child) (int, syscall.Errno) {
	pid, errno := forkAndExec(c)
	afterFork()
	return int(pid), syscall.Errno(errno)
}

// forkAndExec returns in the parent only. From beforeFork on it may not allocate, take a lock, grow the
// stack or call anything but system calls: the child runs in the memory of the guest, while the guest's
// other threads go on. All its variables are therefore declared first.
//
//go:noinline
//go:norace
//go:nocheckptr
func forkAndExec(c *child) (pid, errno uintptr) {
	var (
		err    syscall.Errno
		at     step
		i      uintptr
		fd     uintptr
		groups unsafe.Pointer
	)
	if len(c.groups) > 0 {
		groups = unsafe.Pointer(&c.groups[0])
	}

	beforeFork()
	pid, errno = vfork(syscall.CLONE_VFORK | syscall.CLONE_VM | uintptr(syscall.SIGCHLD))
	if pid != 0 || errno != 0 {
		return
	}

	at = stepSignals
	afterForkInChild()
	// The runtime resets what it handles; what the guest itself inherited as ignored goes here.
	for i = 1; i <= lastSignal; i++ {
		syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, i, uintptr(unsafe.Pointer(&c.defaultAction)), 0, 8, 0, 0)
	}
	_, _, err = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, 2, uintptr(unsafe.Pointer(&c.noSignals)), 0, 8, 0, 0)
	if err != 0 {
		goto failed
	}

	at = stepSession
	if _, _, err = syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0); err != 0 {
		goto failed
	}
	if _, _, err = syscall.RawSyscall6(syscall.SYS_PRCTL, setChildSubreaper, 1, 0, 0, 0, 0); err != 0 {
		goto failed
	}

	if c.oomPath != nil {
		fd, _, err = syscall.RawSyscall6(syscall.SYS_OPENAT, atCurrentDir, uintptr(unsafe.Pointer(c.oomPath)), syscall.O_WRONLY|syscall.O_CLOEXEC, 0, 0, 0)
		if err == 0 {
			syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(&c.oomScore[0])), uintptr(len(c.oomScore)))
			syscall.RawSyscall(syscall.SYS_CLOSE, fd, 0, 0)
		}
	}

	at = stepLimits
	for i = 0; i < uintptr(len(c.limits)); i++ {
		_, _, err = syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, c.limits[i].Resource, uintptr(unsafe.Pointer(&c.limits[i].Values)), 0, 0, 0)
		if err != 0 {
			c.failure.index = uint32(i)
			goto failed
		}
	}

	at = stepStdio
	for i = 0; i < 3; i++ {
		if _, _, err = syscall.RawSyscall(syscall.SYS_DUP3, uintptr(c.stdio[i]), i, 0); err != 0 {
			goto failed
		}
	}

	at = stepTerminal
	if c.terminal {
		if _, _, err = syscall.RawSyscall(syscall.SYS_IOCTL, 0, syscall.TIOCSCTTY, 0); err != 0 {
			goto failed
		}
	}

	if c.identity {
		at = stepIdentity
		// Without the right to drop them the bounding set stays, and no_new_privs makes it harmless.
		for i = 0; i <= lastCapability; i++ {
			syscall.RawSyscall6(syscall.SYS_PRCTL, capabilityDrop, i, 0, 0, 0, 0)
		}
		syscall.RawSyscall6(syscall.SYS_PRCTL, capabilityAmbient, ambientClearAll, 0, 0, 0, 0)
		if _, _, err = syscall.RawSyscall(syscall.SYS_SETGROUPS, uintptr(len(c.groups)), uintptr(groups), 0); err != 0 {
			goto failed
		}
		if _, _, err = syscall.RawSyscall(syscall.SYS_SETRESGID, c.gid, c.gid, c.gid); err != 0 {
			goto failed
		}
		if _, _, err = syscall.RawSyscall(syscall.SYS_SETRESUID, c.uid, c.uid, c.uid); err != 0 {
			goto failed
		}
		if _, _, err = syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&c.capHeader)), uintptr(unsafe.Pointer(&c.capabilities)), 0); err != 0 {
			goto failed
		}
	}

	at = stepPrivileges
	if _, _, err = syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivs, 1, 0, 0, 0, 0); err != 0 {
		goto failed
	}

	at = stepDir
	if _, _, err = syscall.RawSyscall(syscall.SYS_CHDIR, uintptr(unsafe.Pointer(c.dir)), 0, 0); err != 0 {
		goto failed
	}

	at = stepExec
	for i = 0; i < uintptr(len(c.programs)); i++ {
		_, _, err = syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(c.programs[i])), uintptr(unsafe.Pointer(&c.argv[0])), uintptr(unsafe.Pointer(&c.env[0])))
		// As execvp: a candidate that may not be run is reported only when no later one is there.
		if err == syscall.EACCES {
			c.failure.errno = uint32(err)
		} else if err != syscall.ENOENT && err != syscall.ENOTDIR {
			goto failed
		}
	}
	if c.failure.errno != 0 {
		err = syscall.Errno(c.failure.errno)
	}

failed:
	c.failure.step = at
	c.failure.errno = uint32(err)
	syscall.RawSyscall(syscall.SYS_WRITE, c.report, uintptr(unsafe.Pointer(&c.failure)), unsafe.Sizeof(c.failure))
	for {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, failedExit, 0, 0)
	}
}

// atCurrentDir is AT_FDCWD as the kernel takes it.
const atCurrentDir = ^uintptr(99)
