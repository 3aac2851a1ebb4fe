#include "go_asm.h"
#include "textflag.h"

// The loops of storePlain and skipPlain (scan.go), which say what is done; here it
// is said how. Two lookups share a refill: an entry takes at most 11+15 bits.
//
// SI  next byte to load         R8   table (AC; for a moment DC)
// BX  bits, left-aligned        R9   place of 63, the last k within a block
// CX  how many                  R10  where k is in place
// DI  block                     R14  mcuReader
//                               R15  blockPlan
//
// Parts of an entry are loaded one by one: loads are cheaper than shifts.
//
// Why no access leaves its object, whatever the data and the tables say
// (TestGuards runs hostile ones between pages that cannot be read):
//
// Loads of data. An MCU begins at most 8 bytes behind the end of the data: assembly()
// says so for the first one, MCUEND for the others. It has at most 10 blocks of 64
// symbols, each of at most 31 bits (a code of 16 and a value of 15, or 17 that are no
// code): 2,480 bytes. A load begins at most 63 bits behind the bits that were
// consumed and is 8 bytes long: padding covers all of it.
//
// Bits in CX. REFILL leaves 56 to 63. Until the next one a DC entry takes at most
// 9+15, a pair entry 10+15, a skip entry 11+15, and there are at most two of them; a
// symbol decoded alone takes 31. CX never falls below zero (TestTables: every entry).
//
// Loads of tables. Indices are the leftmost bits, as many as the table has entries
// for: SHRQ leaves no others. The search for long codes looks at last and off of
// lengths 12 to 16 only, and at syms with one byte.
//
// k, R10. It is 1 to 63 where an entry is looked up: every way back to a lookup has
// compared it with 63. place is read at k + 15 (a first value), k + 31 (a second one)
// or k + endOfBlock, of 256 bytes, and holds 0 to 64. BOTH runs only if the entry ends
// within the block, FIRST alone also where an end of block follows.
//
// Stores to the block. place sends them to 0 to 64: 64 is the next block's DC, which
// is written later, or behind the last block, where blockBuffer has room: the wrapper
// sees to it that n MCUs fit. pred is written at the component of the plan, 0 to 3,
// and R15 walks the entries of plan that are filled.
//
// Ends. k grows with every symbol, so a block has at most 63 of them besides DC.

// REFILL loads bits until there are at least 56. Clobbers AX.
#define REFILL \
	MOVQ   (SI), AX    \
	BSWAPQ AX          \
	SHRXQ  CX, AX, AX  \
	ORQ    AX, BX      \
	MOVL   CX, AX      \
	XORL   $63, AX     \
	SHRL   $3, AX      \
	ADDQ   AX, SI      \
	ORL    $56, CX

// CONSUME drops R11 bits.
#define CONSUME \
	SHLXQ R11, BX, BX \
	SUBL  R11, CX

// DIFFERENCE decodes the DC part of a block to AX and loads the AC table.
#define DIFFERENCE(slow, found, done, loop) \
	MOVQ  blockPlan_dc(R15), R8         \
	REFILL                              \
	MOVQ  BX, DX                        \
	SHRQ  $(64-const_dcBits), DX        \
	MOVBLZX table_diff(R8)(DX*4), R11   \
	TESTL R11, R11                      \
	JZ    slow                          \
	MOVBLZX (table_diff+1)(R8)(DX*4), AX \
	SHLXQ AX, BX, AX                    \
	MOVBLZX (table_diff+2)(R8)(DX*4), R12 \
	MOVQ  AX, R13                       \
	SARQ  $63, R13                      \
	NOTQ  R13                           \
	XORQ  R13, AX                       \
	SHRQ  $1, AX                        \
	SHRXQ R12, AX, AX                   \
	XORQ  R13, AX                       \
	SUBQ  R13, AX                       \
	CONSUME                             \
	JMP   done                          \
slow:                                       \
	SYMBOL(found, loop)                 \
	VALUE                               \
	REFILLKEEP                          \
done:                                       \
	MOVQ blockPlan_comp(R15), DX        \
	ADDQ mcuReader_pred(R14)(DX*8), AX  \
	MOVQ AX, mcuReader_pred(R14)(DX*8)  \
	MOVQ blockPlan_ac(R15), R8

// SYMBOL decodes any code of table R8: DX becomes the symbol, R11 the code's
// length. 17 bits that are no code are symbol 0. Clobbers AX, R12, R13.
#define SYMBOL(found, loop) \
	MOVQ    BX, DX                       \
	SHRQ    $(64-const_lookBits), DX     \
	MOVWLZX table_look(R8)(DX*2), DX     \
	MOVL    DX, R11                      \
	SHRL    $8, R11                      \
	JNZ     found                        \
	MOVL    $const_lookBits, R11         \
loop:                                        \
	ADDL    $1, R11                      \
	XORL    DX, DX                       \
	CMPL    R11, $17                     \
	JEQ     found                        \
	MOVL    $64, AX                      \
	SUBL    R11, AX                      \
	SHRXQ   AX, BX, AX                   \
	CMPL    AX, table_last(R8)(R11*4)    \
	JGT     loop                         \
	ADDL    table_off(R8)(R11*4), AX     \
	MOVBLZX AX, AX                       \
	MOVBLZX table_syms(R8)(AX*1), DX     \
found:                                       \
	MOVBLZX DX, DX

// VALUE takes a code of R11 bits and the DX&15 bits of its value, which becomes
// AX. Clobbers R12, R13.
#define VALUE \
	SHLXQ R11, BX, BX     \
	SUBL  R11, CX         \
	MOVL  DX, R12         \
	ANDL  $15, R12        \
	MOVQ  BX, AX          \
	MOVQ  BX, R13         \
	SARQ  $63, R13        \
	NOTQ  R13             \
	XORQ  R13, AX         \
	SHLXQ R12, BX, BX     \
	SUBL  R12, CX         \
	XORL  $63, R12        \
	SHRQ  $1, AX          \
	SHRXQ R12, AX, AX     \
	XORQ  R13, AX         \
	SUBQ  R13, AX

// REFILLKEEP is REFILL that keeps AX.
#define REFILLKEEP \
	MOVQ AX, R12 \
	REFILL       \
	MOVQ R12, AX

// BEGIN loads the reader's state, END stores it.
#define BEGIN \
	MOVQ r+0(FP), R14                                    \
	MOVQ (mcuReader_bits+bits_data)(R14), SI             \
	MOVQ (mcuReader_bits+bits_end)(R14), AX              \
	ADDQ SI, AX                                          \
	SHLQ $3, AX                                          \
	MOVQ AX, limit-8(SP)                                 \
	ADDQ (mcuReader_bits+bits_pos)(R14), SI              \
	MOVQ (mcuReader_bits+bits_buf)(R14), BX              \
	MOVQ (mcuReader_bits+bits_n)(R14), CX                \
	MOVQ mcuReader_blocks(R14), AX                       \
	IMULQ $blockPlan__size, AX                           \
	LEAQ mcuReader_plan(R14)(AX*1), AX                   \
	MOVQ AX, last-16(SP)

#define END \
	MOVQ CX, (mcuReader_bits+bits_n)(R14)                \
	MOVQ BX, (mcuReader_bits+bits_buf)(R14)              \
	SUBQ (mcuReader_bits+bits_data)(R14), SI             \
	MOVQ SI, (mcuReader_bits+bits_pos)(R14)

// MCUEND sets the flags to "above" where more bits were consumed than there were.
#define MCUEND \
	LEAQ 0(SI*8), AX     \
	SUBQ CX, AX          \
	CMPQ AX, limit-8(SP)

// PART is byte i of the entry that DX stands for.
#define PART(i) (table_pair+i)(R8)(DX*8)

// LOOKUP finds the entry, DX, and the next k, R12.
#define LOOKUP \
	MOVQ    BX, DX                    \
	SHRQ    $(64-const_pairBits), DX  \
	MOVBLZX PART(3), R12              \
	ADDQ    R10, R12                  \
	CMPQ    R12, R9

// FIRST stores the first value of the entry. Clobbers AX, R11, R13.
#define FIRST \
	MOVBLZX PART(1), AX       \
	SHLXQ   AX, BX, AX        \
	MOVBLZX PART(2), R11      \
	MOVQ    AX, R13           \
	SARQ    $63, R13          \
	NOTQ    R13               \
	XORQ    R13, AX           \
	SHRXQ   R11, AX, AX       \
	MOVBLZX PART(4), R11      \
	XORL    R13, AX           \
	SUBL    R13, AX           \
	MOVBLZX (R10)(R11*1), R11 \
	MOVW    AX, (DI)(R11*2)

// BOTH stores the values of the entry and moves on. Clobbers AX, R11, R13.
#define BOTH \
	FIRST                      \
	MOVBLZX PART(5), R11       \
	MOVBLZX (R10)(R11*1), R11  \
	MOVWLZX PART(6), AX        \
	MOVW    AX, (DI)(R11*2)    \
	MOVBLZX PART(0), R11       \
	MOVQ    R12, R10           \
	CONSUME

// func storeBMI2(r *mcuReader, out *blockBuffer, n int)
TEXT ·storeBMI2(SB), NOSPLIT, $16-24
	BEGIN
	MOVQ out+8(FP), DI
	LEAQ ·place+63(SB), R9
	CMPQ n+16(FP), $0
	JLE  end

mcu:
	LEAQ mcuReader_plan(R14), R15

block:
	DIFFERENCE(dcSlow, dcFound, dcDone, dcLoop)
	MOVW AX, (DI)
	LEAQ -62(R9), R10
	LOOKUP
	JHI  last
	BOTH

loop:
	REFILL
	LOOKUP
	JHI last
	BOTH
	LOOKUP
	JHI last
	BOTH
	JMP loop

last:
	SUBQ    R9, R12
	SUBL    $(const_endOfBlock-63), R12
	CMPL    R12, $63
	JHI     single
	FIRST
	MOVBLZX PART(0), R11
	CONSUME

next:
	ADDQ $128, DI
	ADDQ $blockPlan__size, R15
	CMPQ R15, last-16(SP)
	JNE  block

	MCUEND
	JHI  dry
	DECQ n+16(FP)
	JNZ  mcu

end:
	MOVW $0, (DI) // what ended the last block went there
	END
	RET

dry:
	MOVB $1, mcuReader_dry(R14)
	JMP  end

single:
	REFILL
	SYMBOL(found, search)
	MOVL  DX, R13
	SHRL  $4, R13
	ADDQ  R13, R10
	TESTL $15, DX
	JZ    empty
	VALUE
	MOVBLZX (R10), R13
	MOVW  AX, (DI)(R13*2)
	JMP   moved

empty:
	CONSUME
	CMPL R13, $15
	JNE  next

moved:
	ADDQ $1, R10
	CMPQ R10, R9
	JHI  next
	JMP  loop

// SKIPLOOKUP finds an entry of R11 bits and moves k, here counted from 0, from one
// register to another.
#define SKIPLOOKUP(from, to) \
	MOVQ    BX, DX                         \
	SHRQ    $(64-const_skipBits), DX       \
	MOVBLZX (table_skip+1)(R8)(DX*2), to   \
	MOVBLZX table_skip(R8)(DX*2), R11      \
	ADDL    from, to                       \
	CMPL    to, $63

// func skipBMI2(r *mcuReader, n int)
TEXT ·skipBMI2(SB), NOSPLIT, $16-16
	BEGIN
	CMPQ n+8(FP), $0
	JLE  end

mcu:
	LEAQ mcuReader_plan(R14), R15

block:
	DIFFERENCE(dcSlow, dcFound, dcDone, dcLoop)
	MOVL $1, R10
	SKIPLOOKUP(R10, DI)
	JHI  lastA
	CONSUME

loop: // k is DI
	REFILL
	SKIPLOOKUP(DI, R10)
	JHI lastB
	CONSUME
	SKIPLOOKUP(R10, DI)
	JHI lastA
	CONSUME
	JMP loop

lastA: // from R10 to DI
	SUBL $const_endOfBlock, DI
	CMPL DI, $63
	JHI  single
	CONSUME
	JMP  next

lastB: // from DI to R10
	SUBL $const_endOfBlock, R10
	CMPL R10, $63
	MOVL DI, R10
	JHI  single
	CONSUME

next:
	ADDQ $blockPlan__size, R15
	CMPQ R15, last-16(SP)
	JNE  block

	MCUEND
	JHI  dry
	DECQ n+8(FP)
	JNZ  mcu

end:
	END
	RET

dry:
	MOVB $1, mcuReader_dry(R14)
	JMP  end

single: // k is R10
	REFILL
	SYMBOL(found, search)
	MOVL  DX, DI
	SHRL  $4, DI
	ANDL  $15, DX
	JNZ   taken
	CMPL  DI, $15
	JEQ   taken
	MOVL  $64, DI

taken:
	ADDL  DX, R11
	CONSUME
	LEAL  1(R10)(DI*1), DI
	CMPL  DI, $63
	JHI   next
	JMP   loop
