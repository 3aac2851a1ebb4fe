#include "textflag.h"

// stoker_entry notes in ·atStart what Go's runtime is about to replace, and goes on
// where a Go program begins. The kernel, or ld.so, leaves argc at SP.
TEXT stoker_entry(SB),NOSPLIT|NOFRAME,$0
	MOVD	R0, R19 // ld.so's
	SUB	$64, RSP
	MOVD	$·atStart(SB), R20
	MOVD	$1, R21
	MOVD	R21, 0(R20)

	MOVD	$1, R22 // signal
	MOVD	$1, R23 // its bit
signal:
	MOVD	$134, R8 // rt_sigaction(signal, NULL, SP, 8)
	MOVD	R22, R0
	MOVD	ZR, R1
	MOVD	RSP, R2
	MOVD	$8, R3
	SVC
	CBNZ	R0, next
	MOVD	0(RSP), R4
	CMP	$1, R4 // SIG_IGN
	BNE	next
	MOVD	8(R20), R4
	ORR	R23, R4
	MOVD	R4, 8(R20)
next:
	LSL	$1, R23
	ADD	$1, R22
	CMP	$65, R22
	BNE	signal

	MOVD	$135, R8 // rt_sigprocmask(SIG_BLOCK, NULL, SP, 8)
	MOVD	ZR, R0
	MOVD	ZR, R1
	MOVD	RSP, R2
	MOVD	$8, R3
	SVC
	CBNZ	R0, descriptors
	MOVD	0(RSP), R4
	MOVD	R4, 16(R20)

descriptors:
	MOVD	ZR, R22
	MOVD	$1, R23
descriptor:
	MOVD	$25, R8 // fcntl(descriptor, F_GETFD)
	MOVD	R22, R0
	MOVD	$1, R1
	MOVD	ZR, R2
	SVC
	TBZ	$63, R0, open
	MOVD	24(R20), R4
	ORR	R23, R4
	MOVD	R4, 24(R20)
open:
	LSL	$1, R23
	ADD	$1, R22
	CMP	$3, R22
	BNE	descriptor

	ADD	$64, RSP
	MOVD	R19, R0
	B	_rt0_arm64_linux(SB)
