// Package spawn starts commands.
//
// It does what package os/exec cannot: between fork and exec the child becomes a child subreaper, gets its
// own resource limits, gives up every privilege when it becomes another user, sets no_new_privs and drops
// the guest's protection from the OOM killer. A wrapper program could do the same after an exec of its own,
// at twice the time per command.
package spawn

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"geode/guest/internal/fault"
)

// DefaultPath is where programs are looked for when a command's environment has no PATH.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// A Command is what a child becomes.
type Command struct {
	Argv     []string
	Env      []string
	Dir      string
	Stdio    [3]int
	Terminal bool      // descriptor 0 becomes the controlling terminal
	Identity *Identity // nil: the guest's own
	Limits   []Limit
}

// Start runs a command as a child of the guest and gives its pid. The caller keeps the reaper away until
// Start has returned, because the child of a failed start is waited for here.
func Start(command *Command) (int, error) {
	child, err := prepare(command)
	if err != nil {
		return 0, err
	}
	var report [2]int
	if err := syscall.Pipe2(report[:], syscall.O_CLOEXEC); err != nil {
		return 0, fault.New(fault.SpawnFailed, "cannot start %s: %s", command.Argv[0], err)
	}
	child.report = uintptr(report[1])

	syscall.ForkLock.Lock()
	pid, errno := fork(child)
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(child)
	syscall.Close(report[1])
	defer syscall.Close(report[0])
	if errno != 0 {
		return 0, fault.New(fault.SpawnFailed, "cannot start %s: %s", command.Argv[0], errno)
	}

	failed, failure := readReport(report[0])
	if !failed {
		child.raiseOOMScore(pid)
		return pid, nil
	}
	for {
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != syscall.EINTR {
			break
		}
	}
	return 0, explain(command, failure)
}

// A child is a command with every string already in the form that the kernel takes: nothing can be
// allocated between fork and exec.
type child struct {
	programs []*byte // where the program may be, in the order of PATH
	argv     []*byte
	env      []*byte
	dir      *byte
	stdio    [3]int
	terminal bool
	identity bool
	uid, gid uintptr
	groups   []uint32
	limits   []Limit
	oomScore []byte
	oomPath  *byte
	report   uintptr

	// Room for what the child needs in memory of its own.
	defaultAction [4]uint64
	noSignals     uint64
	capHeader     [2]uint32
	capabilities  [6]uint32
	failure       failure
}

func prepare(command *Command) (*child, error) {
	made := &child{
		stdio:     command.Stdio,
		terminal:  command.Terminal,
		capHeader: [2]uint32{capabilityVersion3, 0},
	}
	var err error
	if made.argv, err = syscall.SlicePtrFromStrings(command.Argv); err != nil {
		return nil, fault.New(fault.InvalidInput, "argv has a NUL byte")
	}
	if made.env, err = syscall.SlicePtrFromStrings(command.Env); err != nil {
		return nil, fault.New(fault.InvalidInput, "env has a NUL byte")
	}
	if made.dir, err = syscall.BytePtrFromString(command.Dir); err != nil {
		return nil, fault.New(fault.InvalidInput, "cwd has a NUL byte")
	}
	if made.programs, err = candidates(command.Argv[0], command.Env); err != nil {
		return nil, err
	}
	if identity := command.Identity; identity != nil {
		made.identity, made.uid, made.gid = true, uintptr(identity.UID), uintptr(identity.GID)
		made.groups = identity.Groups
	}
	made.limits = append(ownLimits(), command.Limits...)
	if protection.privileged {
		made.oomScore = protection.commandScore
		made.oomPath, _ = syscall.BytePtrFromString("/proc/self/oom_score_adj")
	}
	return made, nil
}

// candidates are the files that execvp would try. The child tries them, so that its own user's permissions
// and its own working directory decide.
func candidates(program string, env []string) ([]*byte, error) {
	if program == "" {
		return nil, fault.New(fault.InvalidInput, "argv[0] is empty")
	}
	if strings.Contains(program, "/") {
		return pointers([]string{program})
	}
	path := DefaultPath
	for _, variable := range env {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			path = value
		}
	}
	var files []string
	for folder := range strings.SplitSeq(path, ":") {
		if folder == "" {
			folder = "."
		}
		files = append(files, folder+"/"+program)
	}
	return pointers(files)
}

func pointers(texts []string) ([]*byte, error) {
	terminated, err := syscall.SlicePtrFromStrings(texts)
	if err != nil {
		return nil, fault.New(fault.InvalidInput, "argv[0] or PATH has a NUL byte")
	}
	return terminated[:len(texts)], nil
}

// A step names what the child was doing when it failed.
type step uint32

const (
	stepSession step = iota + 1
	stepSignals
	stepLimits
	stepStdio
	stepTerminal
	stepIdentity
	stepPrivileges
	stepDir
	stepExec
)

// A failure travels from the child to the guest through a pipe that a successful exec closes.
type failure struct {
	step  step
	errno uint32
	index uint32 // of the limit that failed
}

func readReport(pipe int) (bool, failure) {
	var got failure
	buffer := unsafe.Slice((*byte)(unsafe.Pointer(&got)), unsafe.Sizeof(got))
	for {
		n, err := syscall.Read(pipe, buffer)
		if err == syscall.EINTR {
			continue
		}
		return n == len(buffer), got
	}
}

func explain(command *Command, failed failure) error {
	reason := syscall.Errno(failed.errno)
	program := command.Argv[0]
	switch failed.step {
	case stepIdentity:
		return fault.New(fault.CannotEnforce, "cannot run %s as user %s: %s", program, command.Identity, reason)
	case stepLimits:
		code := fault.CannotEnforce
		if reason == syscall.EINVAL {
			code = fault.InvalidInput
		}
		return fault.New(code, "cannot set the limit %s: %s", limitName(command, failed.index), reason)
	case stepDir:
		return fault.New(fault.SpawnFailed, "cannot use the working directory %s: %s", command.Dir, reason)
	case stepExec:
		if reason == syscall.ENOENT && !strings.Contains(program, "/") {
			return fault.New(fault.SpawnFailed, "there is no program %s in the command's PATH", program)
		}
		return fault.New(fault.SpawnFailed, "cannot run %s: %s", program, reason)
	}
	return fault.New(fault.SpawnFailed, "cannot prepare %s (step %d): %s", program, failed.step, reason)
}

func limitName(command *Command, index uint32) string {
	limits := append(ownLimits(), command.Limits...)
	if int(index) >= len(limits) {
		return "unknown"
	}
	return limits[index].String()
}

// CloseOnExec marks every descriptor that the guest inherited, so that no command inherits it in turn.
func CloseOnExec() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, entry := range entries {
		var fd int
		if _, err := fmt.Sscan(entry.Name(), &fd); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
