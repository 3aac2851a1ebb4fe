#include "textflag.h"

// stoker_entry notes in ·atStart what Go's runtime is about to replace, and goes on
// where a Go program begins. The kernel, or ld.so, leaves argc at SP.
TEXT stoker_entry(SB),NOSPLIT|NOFRAME,$0
	MOVQ	DX, R15 // ld.so's
	SUBQ	$64, SP
	MOVQ	$1, ·atStart+0(SB)

	MOVQ	$1, R12 // signal
	MOVQ	$1, R13 // its bit
signal:
	MOVQ	$13, AX // rt_sigaction(signal, NULL, SP, 8)
	MOVQ	R12, DI
	XORL	SI, SI
	MOVQ	SP, DX
	MOVQ	$8, R10
	SYSCALL
	TESTQ	AX, AX
	JNE	next
	CMPQ	0(SP), $1 // SIG_IGN
	JNE	next
	ORQ	R13, ·atStart+8(SB)
next:
	SHLQ	$1, R13
	INCQ	R12
	CMPQ	R12, $65
	JNE	signal

	MOVQ	$14, AX // rt_sigprocmask(SIG_BLOCK, NULL, SP, 8)
	XORL	DI, DI
	XORL	SI, SI
	MOVQ	SP, DX
	MOVQ	$8, R10
	SYSCALL
	TESTQ	AX, AX
	JNE	descriptors
	MOVQ	0(SP), AX
	MOVQ	AX, ·atStart+16(SB)

descriptors:
	XORL	R12, R12
	MOVQ	$1, R13
descriptor:
	MOVQ	$72, AX // fcntl(descriptor, F_GETFD)
	MOVQ	R12, DI
	MOVQ	$1, SI
	XORL	DX, DX
	SYSCALL
	TESTQ	AX, AX
	JGE	open
	ORQ	R13, ·atStart+24(SB)
open:
	SHLQ	$1, R13
	INCQ	R12
	CMPQ	R12, $3
	JNE	descriptor

	ADDQ	$64, SP
	MOVQ	R15, DX
	JMP	_rt0_amd64_linux(SB)
