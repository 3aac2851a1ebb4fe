//go:build turbo && cgo

package oracle

/*
#cgo LDFLAGS: -ljpeg
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <jpeglib.h>

typedef struct {
	struct jpeg_error_mgr pub;
	jmp_buf jump;
	char text[JMSG_LENGTH_MAX];
} oracle_error;

typedef struct {
	int truncated, large, warnings, components;
	int width[4], height[4], stride[4], rows[4];
	unsigned char *plane[4];
	char text[JMSG_LENGTH_MAX];
} oracle_result;

static void oracle_exit(j_common_ptr c) {
	oracle_error *e = (oracle_error *)c->err;
	(*c->err->format_message)(c, e->text);
	longjmp(e->jump, 1);
}

static void oracle_quiet(j_common_ptr c) {}
static void oracle_stub(j_decompress_ptr c) {}

// The source is Pillow's: at the end of the data it suspends, so that a file that
// is cut off is told from one that is damaged.
static boolean oracle_fill(j_decompress_ptr c) { return FALSE; }

static void oracle_skip(j_decompress_ptr c, long n) {
	if (n <= 0) return;
	if ((size_t)n > c->src->bytes_in_buffer) n = (long)c->src->bytes_in_buffer;
	c->src->next_input_byte += n;
	c->src->bytes_in_buffer -= n;
}

static void oracle_free(oracle_result *r) {
	for (int i = 0; i < 4; i++) free(r->plane[i]);
}

// Returns 0 if the image was decoded, and r holds its planes before upsampling.
static int oracle_decode(const unsigned char *data, size_t n, oracle_result *r) {
	struct jpeg_decompress_struct c;
	struct jpeg_source_mgr src;
	oracle_error e;
	memset(r, 0, sizeof *r);
	c.err = jpeg_std_error(&e.pub);
	e.pub.error_exit = oracle_exit;
	e.pub.output_message = oracle_quiet;
	if (setjmp(e.jump)) {
		memcpy(r->text, e.text, sizeof r->text);
		jpeg_destroy_decompress(&c);
		return 1;
	}
	jpeg_create_decompress(&c);
	src.init_source = oracle_stub;
	src.fill_input_buffer = oracle_fill;
	src.skip_input_data = oracle_skip;
	src.resync_to_restart = jpeg_resync_to_restart;
	src.term_source = oracle_stub;
	src.next_input_byte = data;
	src.bytes_in_buffer = n;
	c.src = &src;
	int ok;
	do ok = jpeg_read_header(&c, FALSE); while (ok == JPEG_HEADER_TABLES_ONLY);
	if (ok == JPEG_SUSPENDED) goto truncated;
	if ((double)c.image_width * c.image_height > (1 << 26)) {
		r->large = 1;
		jpeg_destroy_decompress(&c);
		return 1;
	}
	c.raw_data_out = TRUE;
	c.dct_method = JDCT_ISLOW;
	if (!jpeg_start_decompress(&c)) goto truncated;
	if (c.num_components > 4) {
		jpeg_destroy_decompress(&c);
		strcpy(r->text, "more than 4 components");
		return 1;
	}
	r->components = c.num_components;
	for (int i = 0; i < c.num_components; i++) {
		jpeg_component_info *p = &c.comp_info[i];
		r->width[i] = p->downsampled_width;
		r->height[i] = p->downsampled_height;
		r->stride[i] = (p->width_in_blocks + 4) * DCTSIZE;
		r->rows[i] = c.total_iMCU_rows * p->v_samp_factor * DCTSIZE;
		r->plane[i] = calloc(r->stride[i], r->rows[i]);
	}
	JSAMPROW rows[4][4 * DCTSIZE];
	JSAMPARRAY planes[4] = {rows[0], rows[1], rows[2], rows[3]};
	for (JDIMENSION mcu = 0; c.output_scanline < c.output_height; mcu++) {
		for (int i = 0; i < c.num_components; i++) {
			int high = c.comp_info[i].v_samp_factor * DCTSIZE;
			for (int y = 0; y < high; y++) rows[i][y] = r->plane[i] + (size_t)(mcu * high + y) * r->stride[i];
		}
		if (jpeg_read_raw_data(&c, planes, c.max_v_samp_factor * DCTSIZE) == 0) goto truncated;
	}
	jpeg_finish_decompress(&c);
	r->warnings = (int)c.err->num_warnings;
	jpeg_destroy_decompress(&c);
	return 0;
truncated:
	r->truncated = 1;
	strcpy(r->text, "truncated");
	jpeg_destroy_decompress(&c);
	return 1;
}
*/
import "C"

import (
	"errors"
	"unsafe"
)

// Errors that the tests distinguish.
var (
	ErrTruncated = errors.New("truncated") // the file ends before its image does
	// ErrLarge: the image has more than 2^26 pixels. A header of a few bytes can ask for 2^32,
	// which takes libjpeg many seconds, and a fuzzer takes that for a hang.
	ErrLarge = errors.New("too large for a test")
)

// Plane is one component before upsampling.
type Plane struct {
	Width, Height, Stride int
	Pix                   []byte
}

// Planes decodes a JPEG as Pillow does, up to the upsampling. warnings counts the faults that
// libjpeg found and ignored.
func Planes(data []byte) (planes []Plane, warnings int, err error) {
	if len(data) == 0 {
		return nil, 0, ErrTruncated
	}
	var r C.oracle_result
	defer C.oracle_free(&r)
	if C.oracle_decode((*C.uchar)(unsafe.Pointer(&data[0])), C.size_t(len(data)), &r) != 0 {
		switch {
		case r.truncated != 0:
			return nil, 0, ErrTruncated
		case r.large != 0:
			return nil, 0, ErrLarge
		}
		return nil, 0, errors.New(C.GoString(&r.text[0]))
	}
	for i := range int(r.components) {
		planes = append(planes, Plane{
			int(r.width[i]), int(r.height[i]), int(r.stride[i]),
			C.GoBytes(unsafe.Pointer(r.plane[i]), r.stride[i]*r.rows[i]),
		})
	}
	return planes, int(r.warnings), nil
}
