package processes

import (
	"strconv"
	"syscall"
	"unsafe"

	"geode/guest/internal/fault"
)

// A Size is that of a terminal.
type Size struct {
	Columns uint16 `json:"columns"`
	Rows    uint16 `json:"rows"`
}

// openTerminal gives both sides of a new terminal: the guest's, which does not block, and the command's.
func openTerminal(size Size) (master, slave int, err error) {
	master, err = syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, -1, fault.New(fault.CannotEnforce, "cannot make a terminal: /dev/ptmx: %s", err)
	}
	var unlock int32
	var number uint32
	if err = ioctl(master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock)); err == nil {
		err = ioctl(master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	}
	if err == nil {
		err = resize(master, size)
	}
	if err == nil {
		slave, err = syscall.Open("/dev/pts/"+strconv.Itoa(int(number)), syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	}
	if err != nil {
		syscall.Close(master)
		return -1, -1, fault.New(fault.CannotEnforce, "cannot make a terminal: %s", err)
	}
	return master, slave, nil
}

func resize(fd int, size Size) error {
	window := [4]uint16{size.Rows, size.Columns, 0, 0}
	return ioctl(fd, syscall.TIOCSWINSZ, unsafe.Pointer(&window))
}

func sizeOf(fd int) Size {
	window := [4]uint16{}
	_ = ioctl(fd, syscall.TIOCGWINSZ, unsafe.Pointer(&window))
	return Size{Columns: window[1], Rows: window[0]}
}

func ioctl(fd int, request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request, uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}
