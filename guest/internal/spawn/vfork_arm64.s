#include "textflag.h"

// func vfork(flags uintptr) (pid, errno uintptr)
//
// The return address is in the link register, which parent and child each have for themselves.
TEXT ·vfork(SB), NOSPLIT|NOFRAME, $0-24
	MOVD	flags+0(FP), R0
	MOVD	$0, R1
	MOVD	$0, R2
	MOVD	$0, R3
	MOVD	$0, R4
	MOVD	$220, R8
	SVC	$0
	CMN	$4095, R0
	BCS	failed
	MOVD	R0, pid+8(FP)
	MOVD	$0, errno+16(FP)
	RET
failed:
	NEG	R0, R0
	MOVD	$0, pid+8(FP)
	MOVD	R0, errno+16(FP)
	RET
