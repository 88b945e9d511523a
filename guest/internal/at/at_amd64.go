package at

import "syscall"

const (
	sysFstatat       = syscall.SYS_NEWFSTATAT
	sysRenameat2     = 316
	sysCopyFileRange = 326
)
