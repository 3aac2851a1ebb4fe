#include "textflag.h"

// stoker_entry is where the kernel, or ld.so, begins the program. It calls atEntry
// with the stack that it was left, argc first, and goes on where a Go program begins.
// Go code finds its goroutine in thread-local storage. atEntry has none and never looks,
// but the storage must be there: ld.so has made it, for a static binary it is made here.
TEXT stoker_entry(SB),NOSPLIT|NOFRAME,$0
	MOVQ	SP, R12
	MOVQ	DX, R13 // ld.so's
	ANDQ	$~15, SP
	SUBQ	$48, SP

	MOVQ	$158, AX // arch_prctl(ARCH_GET_FS, SP)
	MOVQ	$0x1003, DI
	MOVQ	SP, SI
	SYSCALL
	CMPQ	0(SP), $0
	JNE	ready
	MOVQ	$158, AX // arch_prctl(ARCH_SET_FS, the end of ·storage)
	MOVQ	$0x1002, DI
	LEAQ	·storage+64(SB), SI
	SYSCALL

ready:
	MOVQ	R12, 0(SP)
	MOVQ	R12, 16(SP)
	MOVQ	R13, 24(SP)
	CALL	·atEntry(SB)
	MOVQ	24(SP), DX
	MOVQ	16(SP), SP
	JMP	_rt0_amd64_linux(SB)
