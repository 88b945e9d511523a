package workspace

import "syscall"

const sysFstatat = syscall.SYS_NEWFSTATAT
const sysCopyFileRange = 326
