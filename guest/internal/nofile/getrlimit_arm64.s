#include "textflag.h"

// func getrlimit(resource uintptr, limit unsafe.Pointer) (errno uintptr)
TEXT ·getrlimit(SB), NOSPLIT, $0-24
	MOVD	resource+0(FP), R0
	MOVD	limit+8(FP), R1
	MOVD	$163, R8
	SVC	$0
	NEG	R0, R0
	MOVD	R0, errno+16(FP)
	RET
