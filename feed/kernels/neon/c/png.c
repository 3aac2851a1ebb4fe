//gcc -O3
// Filters of PNG, of package unfilter. They go from pixel to pixel. The next one is loaded before four bytes are
// stored, as these are more than a pixel has.

#include <arm_neon.h>
#include <stdint.h>

static inline __attribute__((always_inline)) uint8x8_t load(const uint8_t *from) {
	uint32_t v;
	__builtin_memcpy(&v, from, 4);
	return vcreate_u8(v);
}

static inline __attribute__((always_inline)) void store(uint8_t *to, uint8x8_t v) {
	uint32_t four = vget_lane_u32(vreinterpret_u32_u8(v), 0);
	__builtin_memcpy(to, &four, 4);
}

// sub does n pixels of two to four bytes; eight bytes must follow.
//go:noescape
//func sub(row *byte, n int, each int)
void sub(uint8_t *row, int64_t n, int64_t each) {
	uint8x8_t left = vdup_n_u8(0), next = load(row);
	do {
		left = vadd_u8(left, next);
		next = load(row + each);
		store(row, left);
		row += each;
	} while (--n > 0);
}

// average is sub for the third filter.
//go:noescape
//func average(row *byte, above *byte, n int, each int)
void average(uint8_t *row, const uint8_t *above, int64_t n, int64_t each) {
	uint8x8_t left = vdup_n_u8(0), next = load(row);
	do {
		left = vadd_u8(next, vhadd_u8(left, load(above)));
		next = load(row + each);
		store(row, left);
		row += each;
		above += each;
	} while (--n > 0);
}

// choose is nearestOf, in words. Only the smaller and the greater one, a comparison, two choices and the sum wait for
// the pixel before.
static inline __attribute__((always_inline)) uint8x8_t choose(int16x8_t left, int16x8_t up, int16x8_t corner) {
	int16x8_t limit = vsubq_s16(vsubq_s16(vaddq_s16(vaddq_s16(corner, corner), corner), up), left);
	int16x8_t low = vminq_s16(left, up), high = vmaxq_s16(left, up);
	int16x8_t nearest = vbslq_s16(vcgtq_s16(high, limit), corner, low);
	nearest = vbslq_s16(vcgtq_s16(limit, low), nearest, high);
	return vmovn_u16(vreinterpretq_u16_s16(nearest));
}

static inline int16x8_t wide(uint8x8_t v) { return vreinterpretq_s16_u16(vmovl_u8(v)); }

// paeth is sub for the fourth filter.
//go:noescape
//func paeth(row *byte, above *byte, n int, each int)
void paeth(uint8_t *row, const uint8_t *above, int64_t n, int64_t each) {
	uint8x8_t left = vdup_n_u8(0), next = load(row);
	int16x8_t corner = vdupq_n_s16(0);
	do {
		int16x8_t up = wide(load(above));
		left = vadd_u8(next, choose(wide(left), up, corner));
		corner = up;
		next = load(row + each);
		store(row, left);
		row += each;
		above += each;
	} while (--n > 0);
}

// paethByte does n pixels of a byte; eight bytes must follow.
//go:noescape
//func paethByte(row *byte, above *byte, n int)
void paethByte(uint8_t *row, const uint8_t *above, int64_t n) {
	uint8x8_t left = vdup_n_u8(0);
	int16x8_t corner = vdupq_n_s16(0);
	do {
		int16x8_t up = wide(load(above));
		left = vadd_u8(load(row), choose(wide(left), up, corner));
		corner = up;
		vst1_lane_u8(row, left, 0);
		row++;
		above++;
	} while (--n > 0);
}
