package spawn

import (
	"os"
	"syscall"
	"unsafe"
)

// Become permanently changes the user of the guest itself; the change drops every capability.
func Become(asked string) error {
	identity, err := Lookup(asked)
	if identity == nil || err != nil {
		return err
	}
	dropBoundingSet()
	if err := syscall.Setgroups([]int{}); err != nil {
		return os.NewSyscallError("setgroups", err)
	}
	if err := syscall.Setresgid(identity.GID, identity.GID, identity.GID); err != nil {
		return os.NewSyscallError("setresgid", err)
	}
	if err := syscall.Setresuid(identity.UID, identity.UID, identity.UID); err != nil {
		return os.NewSyscallError("setresuid", err)
	}
	// The change of user leaves what a program would inherit.
	header, none := [2]uint32{capabilityVersion3, 0}, [6]uint32{}
	_, _, errno := syscall.AllThreadsSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0)
	if errno != 0 {
		return os.NewSyscallError("capset", errno)
	}
	return nil
}

const dropFromBounding = 24

// dropBoundingSet gives up what no program could get back anyway. It needs CAP_SETPCAP; without, nothing is
// lost: the guest and all it starts have no_new_privs.
func dropBoundingSet() {
	for capability := uintptr(0); capability < 64; capability++ {
		_, _, _ = syscall.AllThreadsSyscall(syscall.SYS_PRCTL, dropFromBounding, capability, 0)
	}
}
