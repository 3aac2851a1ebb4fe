#include "textflag.h"

// stoker_entry is where the kernel, or ld.so, begins the program. It calls atEntry
// with the stack that it was left, argc first, and goes on where a Go program begins.
TEXT stoker_entry(SB),NOSPLIT|NOFRAME,$0
	MOVD	R0, R19 // ld.so's
	MOVD	RSP, R20
	SUB	$48, RSP
	MOVD	R20, 8(RSP)
	MOVD	R19, 24(RSP)
	CALL	·atEntry(SB)
	MOVD	24(RSP), R0
	ADD	$48, RSP
	B	_rt0_arm64_linux(SB)
