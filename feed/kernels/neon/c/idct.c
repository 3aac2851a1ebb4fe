//gcc -O3
// The inverse DCT of package decode/idct: transformPlain in the arithmetic of libjpeg-turbo's routine
// for NEON. A block is eight vectors of a row each.

#include <arm_neon.h>
#include <stdint.h>

// Where the factors lie in idctFactors of decode/idct/kernels_arm64.go: those of inputs 2 and 6, of
// the sums 7+3 and 5+1, and of inputs 7 and 1, 5 and 3.
enum { EVEN2, EVEN6, EVEN3, Z3, Z4, Z5, OUT7, OUT71, OUT1, OUT5, OUT53, OUT3 };

typedef struct { int16x8_t row[8]; } block;

typedef struct { int32x4_t even[4], odd[4]; } halves;

static inline int16x4_t low(int16x8_t v) { return vget_low_s16(v); }
static inline int16x4_t high(int16x8_t v) { return vget_high_s16(v); }

#define TIMES(v, k) vmull_laneq_s16(v, (k) < 8 ? factors.val[0] : factors.val[1], (k) % 8)
#define PLUS(sum, v, k) vmlal_laneq_s16(sum, v, (k) < 8 ? factors.val[0] : factors.val[1], (k) % 8)

// half is the pass over four columns.
#define HALF(part, in, plus, minus, sum73, sum51) ({ \
	halves h; \
	int32x4_t t2 = PLUS(TIMES(part(in.row[2]), EVEN2), part(in.row[6]), EVEN6); \
	int32x4_t t3 = PLUS(TIMES(part(in.row[2]), EVEN3), part(in.row[6]), EVEN2); \
	int32x4_t t0 = vshll_n_s16(part(plus), 13), t1 = vshll_n_s16(part(minus), 13); \
	h.even[0] = vaddq_s32(t0, t3); \
	h.even[1] = vaddq_s32(t1, t2); \
	h.even[2] = vsubq_s32(t1, t2); \
	h.even[3] = vsubq_s32(t0, t3); \
	int32x4_t z3 = PLUS(TIMES(part(sum73), Z3), part(sum51), Z5); \
	int32x4_t z4 = PLUS(TIMES(part(sum73), Z5), part(sum51), Z4); \
	h.odd[0] = PLUS(PLUS(z3, part(in.row[7]), OUT7), part(in.row[1]), OUT71); \
	h.odd[1] = PLUS(PLUS(z4, part(in.row[5]), OUT5), part(in.row[3]), OUT53); \
	h.odd[2] = PLUS(PLUS(z3, part(in.row[3]), OUT3), part(in.row[5]), OUT53); \
	h.odd[3] = PLUS(PLUS(z4, part(in.row[1]), OUT1), part(in.row[7]), OUT71); \
	h; })

#define BOTH_HALVES(in) \
	int16x8_t plus = vaddq_s16(in.row[0], in.row[4]), minus = vsubq_s16(in.row[0], in.row[4]); \
	int16x8_t sum73 = vaddq_s16(in.row[7], in.row[3]), sum51 = vaddq_s16(in.row[5], in.row[1]); \
	halves l = HALF(low, in, plus, minus, sum73, sum51), h = HALF(high, in, plus, minus, sum73, sum51)

// first is the pass over columns, which drops what is beyond 16 bits.
static inline __attribute__((always_inline)) block first(block in, int16x8x2_t factors) {
	BOTH_HALVES(in);
	block out;
	for (int i = 0; i < 4; i++) {
		int j = 3 - i;
		out.row[i] = vrshrn_high_n_s32(vrshrn_n_s32(vaddq_s32(l.even[i], l.odd[j]), 11), vaddq_s32(h.even[i], h.odd[j]), 11);
		out.row[7 - i] = vrshrn_high_n_s32(vrshrn_n_s32(vsubq_s32(l.even[i], l.odd[j]), 11), vsubq_s32(h.even[i], h.odd[j]), 11);
	}
	return out;
}

// second is the pass over rows. Half of the sum of 32 bits is dropped without rounding, which
// rounding two bits more makes good.
static inline __attribute__((always_inline)) block second(block in, int16x8x2_t factors) {
	BOTH_HALVES(in);
	block out;
	for (int i = 0; i < 4; i++) {
		int j = 3 - i;
		out.row[i] = vaddhn_high_s32(vaddhn_s32(l.even[i], l.odd[j]), h.even[i], h.odd[j]);
		out.row[7 - i] = vsubhn_high_s32(vsubhn_s32(l.even[i], l.odd[j]), h.even[i], h.odd[j]);
	}
	return out;
}

#define AS(type, v) vreinterpretq_##type##_s16(v)

static inline __attribute__((always_inline)) block transpose(block b) {
	int32x4_t q[8];
	int64x2_t w[8];
	block out;
	for (int i = 0; i < 8; i += 2) {
		q[i] = AS(s32, vtrn1q_s16(b.row[i], b.row[i + 1]));
		q[i + 1] = AS(s32, vtrn2q_s16(b.row[i], b.row[i + 1]));
	}
	for (int i = 0; i < 8; i += 4) {
		for (int j = i; j < i + 2; j++) {
			w[j] = vreinterpretq_s64_s32(vtrn1q_s32(q[j], q[j + 2]));
			w[j + 2] = vreinterpretq_s64_s32(vtrn2q_s32(q[j], q[j + 2]));
		}
	}
	for (int i = 0; i < 4; i++) {
		out.row[i] = vreinterpretq_s16_s64(vtrn1q_s64(w[i], w[i + 4]));
		out.row[i + 4] = vreinterpretq_s16_s64(vtrn2q_s64(w[i], w[i + 4]));
	}
	return out;
}

static inline __attribute__((always_inline)) void transform(int16_t *blocks, const int16_t *q, uint8_t *to, int64_t stride, int16x8x2_t factors) {
	block b;
	for (int i = 0; i < 8; i++)
		b.row[i] = vmulq_s16(vld1q_s16(blocks + 8 * i), vld1q_s16(q + 16 * i));
	for (int i = 0; i < 8; i++)
		vst1q_s16(blocks + 8 * i, vdupq_n_s16(0));
	b = second(transpose(first(b, factors)), factors);
	b = transpose(b);
	for (int i = 0; i < 8; i++) {
		vst1_u8(to, veor_u8(vreinterpret_u8_s8(vqrshrn_n_s16(b.row[i], 2)), vdup_n_u8(128)));
		to += stride;
	}
}

// idctTwo is transformPlain.
//go:noescape
//func idctTwo(blocks *[128]int16, q *[128]int16, a *byte, b *byte, stride int, factors *[16]int16)
void idctTwo(int16_t *blocks, const int16_t *q, uint8_t *a, uint8_t *b, int64_t stride, const int16_t *factors) {
	int16x8x2_t k = {{vld1q_s16(factors), vld1q_s16(factors + 8)}};
	transform(blocks, q, a, stride, k);
	transform(blocks + 64, q + 8, b, stride, k);
}
