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
