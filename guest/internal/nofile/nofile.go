// Package nofile knows the limit on open files that the guest was started with.
//
// Package syscall raises the soft limit when a Go program starts and offers no way to learn what it was;
// commands must get the original back, because programs that use select(2) break above 1024. Packages are
// initialised in the order of their import paths as soon as what they import is ready, so this one, which
// imports nothing, reads the limit before package syscall changes it.
package nofile

import "unsafe"

const limitNofile = 7

// Original is the soft and the hard limit; both are zero when they could not be read.
var Original [2]uint64

func init() {
	if getrlimit(limitNofile, unsafe.Pointer(&Original)) != 0 {
		Original = [2]uint64{}
	}
}

// getrlimit is a bare system call, in assembly because no package with system calls may be imported here.
//
//go:noescape
func getrlimit(resource uintptr, limit unsafe.Pointer) (errno uintptr)
