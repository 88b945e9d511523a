package workspace

import "syscall"

const sysFstatat = syscall.SYS_FSTATAT
const sysCopyFileRange = 285
