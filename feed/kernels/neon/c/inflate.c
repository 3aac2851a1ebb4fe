//gcc -O2
// The loop over many symbols of package inflate. Entries of tables are those of tables.go.

#include <arm_neon.h>
#include <stdint.h>

typedef struct {
	int64_t at, most_at, done, most_done;
	uint64_t buffer, n;
	int64_t outcome;
} span;

enum { limited, ended, damaged };

#define LOOK(table, bits) e = table[buffer & ((1 << bits) - 1)]
#define DROP(k) (buffer >>= (k) & 63, n -= (k) & 63)

// A code that is longer than a look.
#define LOOK_FURTHER(table, bits) \
	(e = table[((e >> 16) + (buffer & ((1 << (e >> 8 & 15)) - 1))) & ((1 << bits) - 1)], DROP(e))

// What is above the bits that are counted is the same again.
#define REFILL() \
	do { \
		uint64_t word; \
		__builtin_memcpy(&word, source, 8); \
		buffer |= word << (n & 63); \
		source += (63 - n) >> 3; \
		n |= 56; \
	} while (0)

// unpackRounds is Unpacker.unpackRounds. s is the first field of a span.
//go:noescape
//func unpackRounds(s *int, data *byte, to *byte, symbol *uint32, space *uint32)
void unpackRounds(span *s, const uint8_t *data, uint8_t *to, const uint32_t *symbol, const uint32_t *space) {
	const uint8_t *source = data + s->at, *most_source = data + s->most_at;
	uint8_t *dst = to + s->done, *most_dst = to + s->most_done;
	uint64_t buffer = s->buffer, n = s->n;
	int64_t outcome = limited;
	while (source <= most_source && dst <= most_dst) {
		uint32_t e;
		REFILL();
		int looks = 4;
		for (;;) {
			LOOK(symbol, 11);
			if (!(e & 3 << 6) || looks == 0)
				break;
			uint32_t three = e >> 8;
			__builtin_memcpy(dst, &three, 4);
			dst += e >> 6 & 3;
			DROP(e);
			looks--;
		}
		if (looks == 0)
			continue;
		DROP(e);
		if ((e >> 12 & 3) == 2) {
			LOOK_FURTHER(symbol, 12);
			if (e & 3 << 6) {
				*dst++ = e >> 8;
				continue;
			}
		}
		if (e & 3 << 12) {
			outcome = (e >> 12 & 3) == 1 ? ended : damaged;
			break;
		}
		int64_t length = (e >> 16) + (buffer & ((1 << (e >> 8 & 15)) - 1));
		DROP(e >> 8 & 15);
		REFILL();
		LOOK(space, 9);
		DROP(e);
		if ((e >> 12 & 3) == 2)
			LOOK_FURTHER(space, 10);
		int64_t distance = (e >> 16) + (buffer & ((1 << (e >> 8 & 15)) - 1));
		DROP(e >> 8 & 15);
		if (e & 3 << 12 || distance > dst - to) {
			outcome = damaged;
			break;
		}
		const uint8_t *from = dst - distance;
		uint8_t *end = dst + length;
		if (distance >= 16) {
			do {
				vst1q_u8(dst, vld1q_u8(from));
				dst += 16;
				from += 16;
			} while (dst < end);
		} else if (distance == 1) {
			uint8x16_t run = vdupq_n_u8(*from);
			do {
				vst1q_u8(dst, run);
				dst += 16;
			} while (dst < end);
		} else {
			// The first bytes that a word brings are right, as many as lie between the two.
			int64_t step = distance < 8 ? distance : 8;
			do {
				vst1_u8(dst, vld1_u8(from));
				dst += step;
				from += step;
			} while (dst < end);
		}
		dst = end;
	}
	s->at = source - data;
	s->done = dst - to;
	s->buffer = buffer;
	s->n = n;
	s->outcome = outcome;
}

// adlerSums writes three times four parts of sums of n bytes, a multiple of 32 and no more than 32768.
//go:noescape
//func adlerSums(sums *uint32, data *byte, n int)
void adlerSums(uint32_t *sums, const uint8_t *data, int64_t n) {
	uint8x8_t eight = vdup_n_u8(8);
	uint64_t distances = 0x191a1b1c1d1e1f20; // 32 to 25
	__asm__("" : "+r"(distances));           // no constant beside the code
	uint8x8_t d = vcreate_u8(distances);
	uint8x8_t c = vsub_u8(d, eight), b = vsub_u8(c, eight), a = vsub_u8(b, eight);
	uint32x4_t plain = vdupq_n_u32(0), before = plain, weighed = plain;
	do {
		uint8x16_t v = vld1q_u8(data), w = vld1q_u8(data + 16);
		before = vaddq_u32(before, plain);
		plain = vpadalq_u16(plain, vpadalq_u8(vpaddlq_u8(v), w));
		uint16x8_t most = vmlal_u8(vmull_u8(vget_low_u8(v), d), vget_high_u8(v), c);
		uint16x8_t least = vmlal_u8(vmull_u8(vget_low_u8(w), b), vget_high_u8(w), a);
		weighed = vpadalq_u16(vpadalq_u16(weighed, most), least);
		data += 32;
		n -= 32;
	} while (n > 0);
	vst1q_u32(sums, plain);
	vst1q_u32(sums + 8, before);
	vst1q_u32(sums + 16, weighed);
}
