//gcc -O3
// The kernels of package transform: the two passes of a resize, and what makes a tensor of rows.

#include <arm_neon.h>
#include <stdint.h>

enum { WEIGHT_BITS = 22 };

// finished rounds eight sums of 22 fractional bits. 16 of these are dropped first, without
// rounding, which rounding the rest makes good; both steps saturate.
static inline uint8x8_t finished(int32x4_t a, int32x4_t b) {
	return vqrshrn_n_u16(vqshrun_high_n_s32(vqshrun_n_s32(a, 16), b, 16), WEIGHT_BITS - 16);
}

// sumGroups makes groups of 8 outputs of 4 rows, each a sum of so many pixels. The cells of
// a pixel of 8 sums are two vectors that say where it lies within 16, spread to 32 bits,
// and two of weights.
//go:noescape
//func sumGroups(dst *byte, dstStride int, src *byte, srcStride int, origins *int32, cells *byte, pixels int, groups int)
void sumGroups(uint8_t *dst, int64_t dstStride, const uint8_t *src, int64_t srcStride, const int32_t *origins, const uint8_t *cells, int64_t pixels, int64_t groups) {
	do {
		const uint8_t *a = src + origins[0], *b = src + origins[1];
		uint8x16_t left[4], right[4];
		int32x4_t sums[4][2];
		origins += 2;
		for (int r = 0; r < 4; r++) {
			left[r] = vld1q_u8(a);
			right[r] = vld1q_u8(b);
			a += srcStride;
			b += srcStride;
			sums[r][0] = sums[r][1] = vdupq_n_s32(0);
		}
		int64_t i = pixels;
		do {
			uint8x16_t places[2] = {vld1q_u8(cells), vld1q_u8(cells + 16)};
			int32x4_t weights[2] = {vld1q_s32((const int32_t *)(cells + 32)), vld1q_s32((const int32_t *)(cells + 48))};
			for (int r = 0; r < 4; r++) {
				sums[r][0] = vmlaq_s32(sums[r][0], vreinterpretq_s32_u8(vqtbl1q_u8(left[r], places[0])), weights[0]);
				sums[r][1] = vmlaq_s32(sums[r][1], vreinterpretq_s32_u8(vqtbl1q_u8(right[r], places[1])), weights[1]);
			}
			cells += 64;
		} while (--i);
		uint8_t *to = dst;
		for (int r = 0; r < 4; r++) {
			vst1_u8(to, finished(sums[r][0], sums[r][1]));
			to += dstStride;
		}
		dst += 8;
	} while (--groups);
}

// add16 adds the products of 16 pixels with both parts of their weights.
#define ADD16(lows, highs, pixels, low, high) do { \
	uint8x16_t p = (pixels); \
	int16x8_t p0 = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(p))), p1 = vreinterpretq_s16_u16(vmovl_high_u8(p)); \
	lows = vmlal_s16(lows, vget_low_s16(p0), vget_low_s16(low.val[0])); \
	lows = vmlal_high_s16(lows, p0, low.val[0]); \
	lows = vmlal_s16(lows, vget_low_s16(p1), vget_low_s16(low.val[1])); \
	lows = vmlal_high_s16(lows, p1, low.val[1]); \
	highs = vmlaq_s16(highs, p0, high.val[0]); \
	highs = vmlaq_s16(highs, p1, high.val[1]); \
} while (0)

static inline int16x8x2_t twoVectors(const uint8_t *p) {
	return (int16x8x2_t){{vld1q_s16((const int16_t *)p), vld1q_s16((const int16_t *)(p + 16))}};
}

// whole is a sum of low parts and one of high parts, whose overflow beyond 16 bits is lost in
// the total as well, pair by pair.
static inline int32x4_t whole(int32x4_t lows, int16x8_t highs) {
	return vaddq_s32(lows, vaddq_s32(vshll_n_s16(vget_low_s16(highs), 16), vshll_high_n_s16(highs, 16)));
}

// sumChunks makes outputs of 4 rows, each a sum of 16*chunks pixels.
//go:noescape
//func sumChunks(dst *byte, dstStride int, src *byte, srcStride int, origins *int32, cells *byte, chunks int, outputs int)
void sumChunks(uint8_t *dst, int64_t dstStride, const uint8_t *src, int64_t srcStride, const int32_t *origins, const uint8_t *cells, int64_t chunks, int64_t outputs) {
	do {
		const uint8_t *row[4] = {src + *origins++};
		int32x4_t lows[4];
		int16x8_t highs[4];
		for (int r = 0; r < 4; r++) {
			if (r > 0)
				row[r] = row[r - 1] + srcStride;
			lows[r] = vdupq_n_s32(0);
			highs[r] = vdupq_n_s16(0);
		}
		int64_t i = chunks;
		do {
			int16x8x2_t low = twoVectors(cells), high = twoVectors(cells + 32);
			for (int r = 0; r < 4; r++) {
				ADD16(lows[r], highs[r], vld1q_u8(row[r]), low, high);
				row[r] += 16;
			}
			cells += 64;
		} while (--i);
		int32x4_t sum = vpaddq_s32(vpaddq_s32(whole(lows[0], highs[0]), whole(lows[1], highs[1])), vpaddq_s32(whole(lows[2], highs[2]), whole(lows[3], highs[3])));
		uint8x8_t out = finished(sum, sum);
		vst1_lane_u8(dst, out, 0);
		vst1_lane_u8(dst + dstStride, out, 1);
		vst1_lane_u8(dst + 2 * dstStride, out, 2);
		vst1_lane_u8(dst + 3 * dstStride, out, 3);
		dst++;
	} while (--outputs);
}

// sumLines makes n bytes, a multiple of 32, each the sum of count rows with their weights.
//go:noescape
//func sumLines(dst *byte, src *byte, stride int, weights *uint32, count int, n int)
void sumLines(uint8_t *dst, const uint8_t *src, int64_t stride, const uint32_t *weights, int64_t count, int64_t n) {
	do {
		const uint8_t *row = src;
		const uint32_t *w = weights, *end = weights + count;
		int32x4_t lows[8];
		int16x8_t highs[4];
		for (int i = 0; i < 4; i++) {
			lows[2 * i] = lows[2 * i + 1] = vdupq_n_s32(0);
			highs[i] = vdupq_n_s16(0);
		}
		do {
			uint8x16_t pixels[2] = {vld1q_u8(row), vld1q_u8(row + 16)};
			int16x8_t v = vreinterpretq_s16_u32(vld1q_dup_u32(w));
			for (int i = 0; i < 4; i++) {
				int16x8_t p = vreinterpretq_s16_u16(i % 2 ? vmovl_high_u8(pixels[i / 2]) : vmovl_u8(vget_low_u8(pixels[i / 2])));
				lows[2 * i] = vmlal_laneq_s16(lows[2 * i], vget_low_s16(p), v, 0);
				lows[2 * i + 1] = vmlal_high_laneq_s16(lows[2 * i + 1], p, v, 0);
				highs[i] = vmlaq_laneq_s16(highs[i], p, v, 1);
			}
			row += stride;
		} while (++w != end);
		for (int i = 0; i < 4; i++) {
			int32x4_t a = vaddq_s32(lows[2 * i], vshll_n_s16(vget_low_s16(highs[i]), 16));
			int32x4_t b = vaddq_s32(lows[2 * i + 1], vshll_high_n_s16(highs[i], 16));
			vst1_u8(dst + 8 * i, finished(a, b));
		}
		src += 32;
		dst += 32;
		n -= 32;
	} while (n > 0);
}

// interleave mixes n pixels, a multiple of 16.
//go:noescape
//func interleave(dst *byte, red *byte, green *byte, blue *byte, n int)
void interleave(uint8_t *dst, const uint8_t *red, const uint8_t *green, const uint8_t *blue, int64_t n) {
	do {
		vst3q_u8(dst, ((uint8x16x3_t){{vld1q_u8(red), vld1q_u8(green), vld1q_u8(blue)}}));
		dst += 48;
		red += 16;
		green += 16;
		blue += 16;
		n -= 16;
	} while (n > 0);
}

// An affine form is (x/255 - mean) / std, see affine of Go. Its numbers repeat after three
// vectors of eight.

static inline __attribute__((always_inline)) float32x4_t normalized(uint32x4_t pixels, float32x2_t unit, float32x4_t mean, float32x4_t high, float32x4_t low) {
	float32x4_t v = vcvtq_f32_u32(pixels);
	float32x4_t q = vfmaq_lane_f32(vmulq_lane_f32(v, unit, 1), v, unit, 0);
	q = vsubq_f32(q, mean);
	return vfmaq_f32(vmulq_f32(q, low), q, high);
}

static inline void store32(uint8_t *dst, float32x4_t a, float32x4_t b) {
	vst1q_f32((float *)dst, a);
	vst1q_f32((float *)dst + 4, b);
}

static inline void storeHalf(uint8_t *dst, float32x4_t a, float32x4_t b) {
	vst1q_u16((uint16_t *)dst, vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(a), b)));
}

static inline uint32x4_t brain(float32x4_t v) {
	uint32x4_t bits = vreinterpretq_u32_f32(v);
	uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
	return vaddq_u32(vaddq_u32(bits, odd), vdupq_n_u32(0x7fff));
}

static inline void storeBrain(uint8_t *dst, float32x4_t a, float32x4_t b) {
	vst1q_u16((uint16_t *)dst, vshrn_high_n_u32(vshrn_n_u32(brain(a), 16), brain(b), 16));
}

#define AFFINE(name, bytes, store) \
	void name(uint8_t *dst, const uint8_t *src, int64_t n, const float *unit, const float *numbers) { \
		float32x2_t u = vld1_f32(unit); \
		float32x4_t mean[6], high[6], low[6]; \
		for (int i = 0; i < 6; i++) { \
			mean[i] = vld1q_f32(numbers + 4 * i); \
			high[i] = vld1q_f32(numbers + 24 + 4 * i); \
			low[i] = vld1q_f32(numbers + 48 + 4 * i); \
		} \
		for (;;) { \
			for (int i = 0; i < 3; i++) { \
				uint16x8_t p = vmovl_u8(vld1_u8(src)); \
				float32x4_t a = normalized(vmovl_u16(vget_low_u16(p)), u, mean[2 * i], high[2 * i], low[2 * i]); \
				float32x4_t b = normalized(vmovl_high_u16(p), u, mean[2 * i + 1], high[2 * i + 1], low[2 * i + 1]); \
				store(dst, a, b); \
				src += 8; \
				dst += 8 * bytes; \
				n -= 8; \
				if (n <= 0) \
					return; \
			} \
		} \
	}

// affine32 converts n pixels, a multiple of 8.
//go:noescape
//func affine32(dst *byte, src *byte, n int, unit *float32, numbers *float32)
AFFINE(affine32, 4, store32)

// affineHalf converts n pixels, a multiple of 8.
//go:noescape
//func affineHalf(dst *byte, src *byte, n int, unit *float32, numbers *float32)
AFFINE(affineHalf, 2, storeHalf)

// affineBrain converts n pixels, a multiple of 8.
//go:noescape
//func affineBrain(dst *byte, src *byte, n int, unit *float32, numbers *float32)
AFFINE(affineBrain, 2, storeBrain)
