package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

const bridgeBuffer = 256 << 10

// bridge pumps bytes between a stream and the socket of a guest, in both directions, until either side is
// done. The end of the input is passed on, so that what is still on its way back arrives.
//
// With a peer it talks only to the process that has this pid: a process inside the sandbox that put its own
// socket in the place of the guest's would otherwise sit between host and guest.
func bridge(socket string, peer int, input *os.File, output *os.File) error {
	// A process of the same user could otherwise write to the host through this one's descriptors.
	if err := prctl(setDumpable, 0); err != nil {
		return err
	}
	dialed, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	conn := dialed.(*net.UnixConn)
	defer conn.Close()
	if err := checkPeer(conn, peer); err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() {
		_, err := io.CopyBuffer(plainWriter{conn}, plainReader{input}, make([]byte, bridgeBuffer))
		_ = conn.CloseWrite()
		sent <- err
	}()
	_, err = io.CopyBuffer(plainWriter{output}, plainReader{conn}, make([]byte, bridgeBuffer))
	select {
	case failed := <-sent:
		if err == nil {
			err = failed
		}
	default:
	}
	return err
}

func checkPeer(conn *net.UnixConn, peer int) error {
	if peer == 0 {
		return nil
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var found *syscall.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		found, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	if int(found.Pid) != peer {
		return fmt.Errorf("the socket belongs to process %d, not %d", found.Pid, peer)
	}
	return nil
}

// These hide the shortcuts through splice, which move one pipe's worth at a time.
type plainReader struct{ io.Reader }
type plainWriter struct{ io.Writer }
