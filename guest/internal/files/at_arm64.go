package files

import "syscall"

const (
	sysFstatat   = syscall.SYS_FSTATAT
	sysRenameat2 = 276
)
