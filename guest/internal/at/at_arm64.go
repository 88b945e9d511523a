package at

import "syscall"

const (
	sysFstatat       = syscall.SYS_FSTATAT
	sysRenameat2     = 276
	sysCopyFileRange = 285
)
