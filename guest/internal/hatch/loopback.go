package hatch

import (
	"net"
	"syscall"
	"unsafe"
)

const (
	interfaceNameLength = 16
	getFlags            = 0x8913
	setFlags            = 0x8914
)

// An interfaceRequest is the kernel's struct ifreq with flags in it.
type interfaceRequest struct {
	name  [interfaceNameLength]byte
	flags uint16
	_     [22]byte
}

// hasLoopback brings lo up where the runtime left it down and the guest may; false when commands could not
// connect to it.
func hasLoopback() bool {
	if isUp() {
		return true
	}
	bringUp()
	return isUp()
}

func isUp() bool {
	lo, err := net.InterfaceByName("lo")
	return err == nil && lo.Flags&net.FlagUp != 0
}

// bringUp does what it can: without CAP_NET_ADMIN the kernel refuses.
func bringUp() {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer syscall.Close(socket)
	var request interfaceRequest
	copy(request.name[:], "lo")
	if control(socket, getFlags, &request) {
		request.flags |= syscall.IFF_UP
		control(socket, setFlags, &request)
	}
}

func control(socket int, operation uintptr, request *interfaceRequest) bool {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), operation, uintptr(unsafe.Pointer(request)))
	return errno == 0
}
