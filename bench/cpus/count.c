// Counts the instructions that a program runs under qemu's user emulation, and says how many there
// were whenever the program closes descriptor 0x53544f4b, which nobody has open:
//
//	cc -O2 -shared -fPIC -o count.so count.c
//	qemu-aarch64 -plugin ./count.so PROGRAM
//
// Debian ships no header with qemu-user: the declarations are those of its plugin API, version 1,
// as far as they are needed (QEMU 7.2, docs/devel/tcg-plugins).

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

typedef uint64_t plugin_id;
struct info;
struct block;
enum operation { ADD };

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct block *));
extern size_t qemu_plugin_tb_n_insns(const struct block *);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct block *, enum operation, void *, uint64_t);
extern void qemu_plugin_register_vcpu_syscall_cb(plugin_id, void (*)(plugin_id, unsigned, int64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t));

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

enum { CLOSE = 57, MARK = 0x53544f4b };

static uint64_t count;

static void translated(plugin_id id, struct block *block) {
	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(block, ADD, &count, qemu_plugin_tb_n_insns(block));
}

static void called(plugin_id id, unsigned cpu, int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h) {
	(void)id, (void)cpu, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
	if (number == CLOSE && (uint32_t)a == MARK)
		fprintf(stderr, "counted %" PRIu64 "\n", count);
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const struct info *info, int argc, char **argv) {
	(void)info, (void)argc, (void)argv;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_vcpu_syscall_cb(id, called);
	return 0;
}
