#include "textflag.h"

// func vfork(flags uintptr) (pid, errno uintptr)
//
// Parent and child return on the same stack, the child first, and the child's later calls overwrite the
// return address there. It is kept in a register, which each of the two has for itself.
TEXT ·vfork(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ	flags+0(FP), DI
	XORL	SI, SI
	XORL	DX, DX
	XORL	R10, R10
	XORL	R8, R8
	MOVQ	$56, AX
	MOVQ	0(SP), R12
	SYSCALL
	MOVQ	R12, 0(SP)
	CMPQ	AX, $0xfffffffffffff001
	JCC	failed
	MOVQ	AX, pid+8(FP)
	MOVQ	$0, errno+16(FP)
	RET
failed:
	NEGQ	AX
	MOVQ	$0, pid+8(FP)
	MOVQ	AX, errno+16(FP)
	RET
