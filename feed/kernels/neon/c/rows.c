//gcc -O3
// Colour conversion and upsampling of package decode. Chroma has 128 taken off. The products
// that libjpeg makes with 16-bit fractions come out the same in 16 bits where they are
//
//	1.40200 cr = cr + round(13173/32768 cr)
//	1.77200 cb = 2 cb - round(7471/32768 cb)
//
// (true for all 256 values); the two of green are summed in 32 bits.

#include <arm_neon.h>
#include <stdint.h>

typedef struct { uint8x8_t red, green, blue; } pixels;

static inline __attribute__((always_inline)) pixels colours(int16x8_t luma, int16x8_t cb, int16x8_t cr) {
	int16x4_t l = vrshrn_n_s32(vmlal_n_s16(vmull_n_s16(vget_low_s16(cb), -11277), vget_low_s16(cr), 9367), 15);
	int16x8_t mixed = vrshrn_high_n_s32(l, vmlal_high_n_s16(vmull_high_n_s16(cb, -11277), cr, 9367), 15);
	int16x8_t red = vaddq_s16(luma, cr), blue = vaddq_s16(luma, vaddq_s16(cb, cb));
	pixels p;
	p.red = vqmovun_s16(vaddq_s16(red, vqrdmulhq_n_s16(cr, 13173)));
	p.green = vqmovun_s16(vaddq_s16(vsubq_s16(luma, cr), mixed));
	p.blue = vqmovun_s16(vaddq_s16(blue, vqrdmulhq_n_s16(cb, -7471)));
	return p;
}

static inline int16x8_t wide(uint8x8_t v) { return vreinterpretq_s16_u16(vmovl_u8(v)); }

// weigh makes n sums 3*near + far, a multiple of 16.
//go:noescape
//func weigh(dst *int16, near *byte, far *byte, n int)
void weigh(int16_t *dst, const uint8_t *near, const uint8_t *far, int64_t n) {
	do {
		uint8x16_t a = vld1q_u8(near), b = vld1q_u8(far);
		uint8x16_t three = vdupq_n_u8(3);
		vst1q_s16(dst, vreinterpretq_s16_u16(vmlal_u8(vmovl_u8(vget_low_u8(b)), vget_low_u8(a), vget_low_u8(three))));
		vst1q_s16(dst + 8, vreinterpretq_s16_u16(vmlal_high_u8(vmovl_high_u8(b), a, three)));
		near += 16;
		far += 16;
		dst += 16;
		n -= 16;
	} while (n > 0);
}

// convert makes n pixels, rounded up to 16.
//go:noescape
//func convert(red *byte, green *byte, blue *byte, luma *byte, cb *byte, cr *byte, n int)
void convert(uint8_t *red, uint8_t *green, uint8_t *blue, const uint8_t *luma, const uint8_t *cb, const uint8_t *cr, int64_t n) {
	uint8x8_t middle = vdup_n_u8(128);
	for (int64_t at = 0; at < n; at += 8) {
		int16x8_t b = vreinterpretq_s16_u16(vsubl_u8(vld1_u8(cb + at), middle));
		int16x8_t r = vreinterpretq_s16_u16(vsubl_u8(vld1_u8(cr + at), middle));
		pixels p = colours(wide(vld1_u8(luma + at)), b, r);
		vst1_u8(red + at, p.red);
		vst1_u8(green + at, p.green);
		vst1_u8(blue + at, p.blue);
	}
}

typedef struct { int16x8_t even, odd; } doubled;

// both are the chroma of 16 pixels: sums has one of context in front.
static inline __attribute__((always_inline)) doubled both(const int16_t *sums, int16x8_t even, int16x8_t odd) {
	int16x8_t near = vld1q_s16(sums + 1);
	int16x8_t three = vaddq_s16(vshlq_n_s16(near, 1), near);
	doubled d;
	d.even = vshrq_n_s16(vaddq_s16(vaddq_s16(three, even), vld1q_s16(sums)), 4);
	d.odd = vshrq_n_s16(vaddq_s16(vaddq_s16(three, odd), vld1q_s16(sums + 2)), 4);
	return d;
}

// convertDoubled makes n pixels, rounded up to 16; 128 << 4 is taken off even and odd.
//go:noescape
//func convertDoubled(dst *byte, stride int, luma *byte, cb *int16, cr *int16, n int, even int32, odd int32)
void convertDoubled(uint8_t *dst, int64_t stride, const uint8_t *luma, const int16_t *cb, const int16_t *cr, int64_t n, int32_t even, int32_t odd) {
	uint8_t *red = dst, *green = dst + stride, *blue = dst + 2 * stride;
	int16x8_t e = vdupq_n_s16(even), o = vdupq_n_s16(odd);
	for (; n > 0; n -= 16) {
		uint8x8x2_t y = vld2_u8(luma);
		doubled b = both(cb, e, o), r = both(cr, e, o);
		pixels p = colours(wide(y.val[0]), b.even, r.even), q = colours(wide(y.val[1]), b.odd, r.odd);
		vst2_u8(red, ((uint8x8x2_t){{p.red, q.red}}));
		vst2_u8(green, ((uint8x8x2_t){{p.green, q.green}}));
		vst2_u8(blue, ((uint8x8x2_t){{p.blue, q.blue}}));
		red += 16;
		green += 16;
		blue += 16;
		luma += 16;
		cb += 8;
		cr += 8;
	}
}

// part takes n pixels of three bytes apart, a multiple of 16.
//go:noescape
//func part(red *byte, green *byte, blue *byte, pixels *byte, n int)
void part(uint8_t *red, uint8_t *green, uint8_t *blue, const uint8_t *from, int64_t n) {
	do {
		uint8x16x3_t p = vld3q_u8(from);
		vst1q_u8(red, p.val[0]);
		vst1q_u8(green, p.val[1]);
		vst1q_u8(blue, p.val[2]);
		red += 16;
		green += 16;
		blue += 16;
		from += 48;
		n -= 16;
	} while (n > 0);
}
