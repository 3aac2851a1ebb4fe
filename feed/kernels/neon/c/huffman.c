//gcc -O2 -fno-schedule-insns -fno-tree-pre -fno-gcse
// The loops of storePlain and skipPlain of package decode (scan.go says what is done). No
// vectors: what is won is that a compiler of C keeps all of the reader in registers and
// checks no index. Why no access leaves its object is said in scan_amd64.s: loads, tables
// and places are the same, and TestGuards runs hostile ones.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOOK = 11, PAIR = 10, SKIP = 12, DC = 9, END = 128 }; // lookBits, pairBits, skipBits, dcBits, endOfBlock

typedef struct {
	uint16_t look[1 << LOOK];
	int32_t last[18], off[18];
	uint8_t syms[256];
	uint32_t diff[1 << DC];
	uint64_t pair[1 << PAIR];
	uint16_t skip[1 << SKIP];
} table;

typedef struct {
	const table *dc, *ac;
	int64_t component;
} blockPlan;

typedef struct {
	const uint8_t *data;
	int64_t length, capacity, end, pos;
	uint64_t buf, n;
	bool filled, dry __attribute__((aligned(8)));
	int64_t blocks;
	blockPlan plan[10];
	int64_t pred[4];
} reader;

// decode/kernels_arm64_test.go holds the same numbers against Go's structures.
#define AT(type, field, place) _Static_assert(offsetof(type, field) == place, #field)
AT(table, last, 4096);
AT(table, off, 4168);
AT(table, syms, 4240);
AT(table, diff, 4496);
AT(table, pair, 6544);
AT(table, skip, 14736);
AT(reader, end, 24);
AT(reader, pos, 32);
AT(reader, buf, 40);
AT(reader, n, 48);
AT(reader, dry, 64);
AT(reader, blocks, 72);
AT(reader, plan, 80);
AT(reader, pred, 320);

// state is the reader's, in registers.
typedef struct {
	const uint8_t *p;
	uint64_t buf, n;
} state;

#define RARE(condition) __builtin_expect(!!(condition), 0)
#define INLINE static inline __attribute__((always_inline))

// refill loads bits until there are at least 56.
INLINE void refill(state *s) {
	uint64_t next;
	__builtin_memcpy(&next, s->p, 8);
	s->buf |= __builtin_bswap64(next) >> s->n;
	s->p += (s->n ^ 63) >> 3;
	s->n |= 56;
}

INLINE void drop(state *s, uint32_t bits) {
	s->buf <<= bits & 63;
	s->n -= (uint8_t)bits;
}

// hidden is an address that the compiler does not take apart again.
#define hidden(address) ({ __typeof__(&*(address)) p = (address); __asm__("" : "+r"(p)); p; })

// signOf is all ones where the first bit is set. That its origin is hidden from the compiler
// keeps it from a comparison, which takes three instructions.
INLINE int64_t signOf(uint64_t x) {
	int64_t sign = (int64_t)x >> 63;
	__asm__("" : "+r"(sign));
	return sign;
}

// value is what the left end of x stands for, without right bits.
INLINE int64_t value(uint64_t x, uint64_t right) {
	int64_t sign = signOf(x);
	return (int64_t)(~sign ^ (x ^ ~sign) >> (right & 63)) + sign + 1;
}

// halfValue is value for a shift of one bit more, which may be all 64.
INLINE int64_t halfValue(uint64_t x, uint64_t right) {
	int64_t sign = signOf(x);
	return (int64_t)(~sign ^ (x ^ ~sign) >> 1 >> (right & 63)) + sign + 1;
}

// symbol is the one at the left end of buf, with its length in the second byte.
INLINE uint32_t symbol(const table *t, uint64_t buf) {
	uint32_t e = t->look[buf >> (64 - LOOK)];
	if (e)
		return e;
	for (int l = LOOK + 1; l <= 16; l++) {
		int32_t code = buf >> (64 - l);
		if (code <= t->last[l])
			return t->syms[(uint8_t)(code + t->off[l])] | (uint32_t)l << 8;
	}
	return 17 << 8;
}

// difference decodes the DC part of a block, and leaves at least 25 bits.
INLINE int64_t difference(state *s, const table *t) {
	refill(s);
	uint32_t e = t->diff[s->buf >> (64 - DC)];
	if (RARE(e == 0)) {
		uint32_t found = symbol(t, s->buf), size = found & 15;
		drop(s, found >> 8);
		int64_t v = halfValue(s->buf, 63 - size);
		drop(s, size);
		refill(s);
		return v;
	}
	int64_t v = halfValue(s->buf << (e >> 8 & 63), e >> 16);
	drop(s, e);
	return v;
}

INLINE state begin(const reader *r) { return (state){r->data + r->pos, r->buf, r->n}; }

INLINE void end(reader *r, state s) {
	r->pos = s.p - r->data;
	r->buf = s.buf;
	r->n = s.n;
}

INLINE bool ranOut(const reader *r, state s) { return (s.p - r->data) * 8 - (int64_t)s.n > r->end * 8; }

// FIRST stores the first value of an entry, BOTH both, and moves on.
#define FIRST \
	block[k[(uint8_t)(e >> 32)]] = value(s.buf << (e >> 8 & 63), e >> 16)
#define BOTH \
	FIRST; \
	block[k[(uint8_t)(e >> 40)]] = e >> 48; \
	k = next; \
	drop(&s, e)
#define LOOKUP \
	e = pairs[s.buf >> (64 - PAIR)]; \
	next = k + (uint8_t)(e >> 24); \
	if (RARE(next > last)) \
		goto leave

// storeHuffman is storePlain. The reader must satisfy assembly(), n MCUs must fit.
//go:noescape
//func storeHuffman(r *mcuReader, out *blockBuffer, n int, place *[256]uint8)
void storeHuffman(reader *r, int16_t *block, int64_t n, const uint8_t *place) {
	state s = begin(r);
	const uint8_t *last = place + 63;
	for (; n > 0; n--) {
		for (const blockPlan *b = r->plan, *behind = b + r->blocks; b != behind; b++) {
			int64_t dc = r->pred[b->component] + difference(&s, b->dc);
			const uint64_t *pairs = hidden(b->ac->pair);
			const uint8_t *k = place + 1, *next;
			uint64_t e;
			r->pred[b->component] = dc;
			block[0] = dc;
			LOOKUP;
			BOTH;
		loop:
			refill(&s);
			LOOKUP;
			BOTH;
			LOOKUP;
			BOTH;
			goto loop;
		leave:
			if ((uint64_t)(next - place - END) < 64) { // the block ends within the entry
				FIRST;
				drop(&s, e);
			} else { // a symbol alone
				refill(&s);
				uint32_t found = symbol(b->ac, s.buf), size = found & 15, run = found >> 4 & 15;
				drop(&s, found >> 8);
				k += run;
				if (size > 0) {
					block[*k] = halfValue(s.buf, 63 - size);
					drop(&s, size);
				}
				if (size > 0 || run == 15) {
					if (++k <= last)
						goto loop;
				}
			}
			block += 64;
		}
		if (ranOut(r, s)) {
			r->dry = true;
			break;
		}
	}
	*block = 0; // what ended the last block went there
	end(r, s);
}

#define SKIPLOOKUP \
	e = skips[s.buf >> (64 - SKIP)]; \
	next = k + (e >> 8); \
	if (RARE(next > 63)) \
		goto leave; \
	k = next; \
	drop(&s, e)

// skipHuffman is skipPlain. The reader must satisfy assembly().
//go:noescape
//func skipHuffman(r *mcuReader, n int)
void skipHuffman(reader *r, int64_t n) {
	state s = begin(r);
	for (; n > 0; n--) {
		for (const blockPlan *b = r->plan, *behind = b + r->blocks; b != behind; b++) {
			r->pred[b->component] += difference(&s, b->dc);
			const uint16_t *skips = hidden(b->ac->skip);
			uint32_t k = 1, next, e;
			SKIPLOOKUP;
		loop:
			refill(&s);
			SKIPLOOKUP;
			SKIPLOOKUP;
			goto loop;
		leave:
			if (next - END < 64) {
				drop(&s, e);
			} else {
				refill(&s);
				uint32_t found = symbol(b->ac, s.buf), size = found & 15, run = found >> 4 & 15;
				drop(&s, (found >> 8) + size);
				k += run + 1;
				if ((size > 0 || run == 15) && k < 64)
					goto loop;
			}
		}
		if (ranOut(r, s)) {
			r->dry = true;
			break;
		}
	}
	end(r, s);
}
