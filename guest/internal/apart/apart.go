// Package apart starts programs that cannot look into the processes beside them.
//
// Programs of one user may read each other's memory. A program in a domain of Landlock may do so only with
// programs of its own domain, so the process that started it stays closed to it.
package apart

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"
)

// The numbers are the same on all architectures.
const (
	createRuleset = 444
	addRule       = 445
	restrictSelf  = 446

	askVersion    = 1
	ruleBeneath   = 1
	accessRefer   = 1 << 13
	leastVersion  = 2
	setNoNewPrivs = 38
	openPath      = 0x200000
)

type beneath struct {
	allowed uint64
	folder  int32
}

// Exec becomes the program. Where the kernel has no Landlock, it is only what the program was before.
func Exec(argv, env []string) error {
	if len(argv) == 0 {
		return errors.New("no program is named")
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	// The domain is of a thread, which the program goes on with.
	runtime.LockOSThread()
	enter()
	return syscall.Exec(path, argv, env)
}

// enter makes a domain that forbids nothing but to look out of it: moving files between folders, which every
// domain forbids by itself, is allowed everywhere.
func enter() {
	version, _, errno := syscall.RawSyscall(createRuleset, 0, 0, askVersion)
	if errno != 0 || version < leastVersion {
		return
	}
	handled := uint64(accessRefer)
	ruleset, _, errno := syscall.RawSyscall(createRuleset, uintptr(unsafe.Pointer(&handled)), unsafe.Sizeof(handled), 0)
	if errno != 0 {
		return
	}
	defer syscall.Close(int(ruleset))
	root, err := syscall.Open("/", openPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer syscall.Close(root)
	rule := beneath{accessRefer, int32(root)}
	if _, _, errno := syscall.RawSyscall6(addRule, ruleset, ruleBeneath, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return
	}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return
	}
	syscall.RawSyscall(restrictSelf, ruleset, 0, 0)
}
