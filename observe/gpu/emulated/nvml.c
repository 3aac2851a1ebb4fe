/*
 * A stand-in for libnvidia-ml.so.1 that reports what emulated devices did.
 *
 * Build (this line is what `make emulate` and the Go test run):
 *
 *   cc -O2 -Wall -Wextra -Werror -shared -fPIC -pthread -o bin/libnvidia-ml.so.1 observe/gpu/emulated/nvml.c
 *
 * The page, version 1. Both sides of the language border begin with this
 * paragraph: python/stoker/emulated.py writes, observe/gpu/emulated/nvml.c reads.
 *
 *   All integers are in the machine's own byte order; all times are
 *   nanoseconds of CLOCK_MONOTONIC. The file is 4,096 + 8 x 65,536 x 24 =
 *   12,587,008 bytes, all allocated when it is made.
 *
 *   offset        size  field
 *   0             8     magic "STKEMUL1", written last when the page is made
 *   8             4     version_u32, 1
 *   12            4     device_count_u32, highest index ever used + 1, at most 8
 *   1024 + 256*i        record of device i:
 *     +0          64    chip name, UTF-8, ends with NUL
 *     +64         64    uuid, ASCII, ends with NUL
 *     +128        4     pid_u32 of the process that made the device; 0: never made
 *     +132        4     sm_clock_mhz_u32
 *     +136        4     idle_mw_u32
 *     +140        4     limit_mw_u32
 *     +144        8     memory_total_bytes_u64
 *     +152        8     memory_used_bytes_u64, 2^64-1: unknown
 *     +160        8     written_u64, intervals written so far
 *     +168        8     created_ns_u64
 *     +176        4     max_sm_clock_mhz_u32
 *     +180        4*4   link_generation_u32, link_width_u32, and the most of both; 0: not told
 *     +196        4     reasons_u32 of a low clock, in NVML's bits
 *     +200        4     sm_active_u32 while a kernel runs, in thousandths; 0: no counters
 *     +204        8     stranger_pid_u32, another process on the device, and its percentage_u32
 *     +212        4     mig_u32, 1: in instances
 *     +216        8     fault_u32 (1: every answer is an error, 2: no answer has a value, 3: answers
 *                       are late), late_ms_u32
 *   4096 + 1572864*i    ring of device i, 65,536 entries of 24 bytes;
 *                       interval number n lies in entry n mod 65,536:
 *     +0          8     start_ns_u64
 *     +8          8     end_ns_u64
 *     +16         4     kind_u32, 1 kernel, 2 copy, 3 copy from pageable memory, which the CPU stages
 *     +20         4     pad, 0
 *
 *   The writer writes the entry first and written_u64 last. Intervals may lie
 *   in the future, because the device has a queue: the reader cuts at now.
 *   One process writes a device's record and ring; several processes (ranks)
 *   share the page, each with another device index.
 *
 * The page is another process's file, so nothing in it is believed: it is read
 * with pread and never mapped (a file that shrinks gives a short read, not
 * SIGBUS), counters are used modulo the ring, and an entry that is no interval,
 * torn or absurd, is dropped.
 *
 * The declarations below follow NVIDIA's published NVML interface (names,
 * argument order, numbers); nothing else of NVML is here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	SUCCESS = 0,
	UNINITIALIZED = 1,
	INVALID_ARGUMENT = 2,
	NOT_SUPPORTED = 3,
	NOT_FOUND = 6,
	INSUFFICIENT_SIZE = 7,
	GPU_IS_LOST = 15,
	NOT_READY = 27,
	UNKNOWN = 999,
};

enum { CLOCK_OF_GRAPHICS = 0, CLOCK_OF_SM = 1 };
enum { GPU_UTILIZATION_SAMPLES = 1 };
enum { VALUE_UNSIGNED_INT = 1 };

typedef int nvmlReturn_t;
typedef struct device *nvmlDevice_t;

typedef struct { unsigned int gpu, memory; } nvmlUtilization_t;
typedef struct { unsigned long long total, free, used; } nvmlMemory_t;
typedef union {
	double d;
	unsigned int u;
	unsigned long long ull;
} nvmlValue_t;
typedef struct {
	unsigned long long timeStamp; /* microseconds of CLOCK_REALTIME */
	nvmlValue_t value;
} nvmlSample_t;
typedef struct {
	unsigned int pid;
	unsigned long long usedGpuMemory;
	unsigned int gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;

typedef struct {
	char busIdLegacy[16];
	unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
	char busId[32];
} nvmlPciInfo_t;
typedef struct {
	unsigned int pid;
	unsigned long long timeStamp; /* microseconds of CLOCK_REALTIME */
	unsigned int smUtil, memUtil, encUtil, decUtil;
} nvmlProcessUtilizationSample_t;
typedef struct { unsigned int version, isSupportedDevice; } nvmlGpmSupport_t;
struct gpm_sample;
enum { GPM_GRAPHICS_UTIL = 1, GPM_SM_UTIL = 2, GPM_PCIE_OUT = 20, GPM_PCIE_IN = 21, GPM_MOST = 8 };
typedef struct {
	unsigned int version, numMetrics;
	struct gpm_sample *sample1, *sample2;
	struct {
		unsigned int metricId;
		nvmlReturn_t nvmlReturn;
		double value;
		const char *shortName, *longName, *unit;
	} metrics[GPM_MOST]; /* NVML has room for as many as it knows */
} nvmlGpmMetricsGet_t;

_Static_assert(sizeof(nvmlPciInfo_t) == 68, "nvmlPciInfo_t as NVML has it");
_Static_assert(sizeof(nvmlProcessUtilizationSample_t) == 32, "nvmlProcessUtilizationSample_t as NVML has it");
_Static_assert(offsetof(nvmlGpmMetricsGet_t, metrics) == 24, "nvmlGpmMetricsGet_t as NVML has it");
_Static_assert(sizeof(nvmlSample_t) == 16, "nvmlSample_t as NVML has it");
_Static_assert(sizeof(nvmlProcessInfo_t) == 24, "nvmlProcessInfo_t as NVML has it");

/* ---- the page ---- */

enum { MAX_DEVICES = 8, RECORDS = 1024, RECORD_SIZE = 256, HEADER_SIZE = 4096, RING = 65536 };
enum { KIND_KERNEL = 1, KIND_COPY = 2, KIND_STAGED = 3 };
/* What NVML calls utilisation: an H100 counts what its copy engines do as well (bench/gpu/RESULTS.md). */
enum { UTILISED = 1u << KIND_KERNEL | 1u << KIND_COPY };

struct header {
	char magic[8];
	uint32_t version, device_count;
};

struct record {
	char chip[64], uuid[64];
	uint32_t pid, sm_clock_mhz, idle_mw, limit_mw;
	uint64_t memory_total, memory_used, written, created_ns;
	uint32_t max_sm_clock_mhz;
	uint32_t link_gen, link_width, max_link_gen, max_link_width;
	uint32_t reasons, sm_active, stranger, stranger_percent, mig;
	uint32_t fault, late_ms, unused[8];
};
_Static_assert(sizeof(struct record) == RECORD_SIZE, "record as drawn above");
_Static_assert(offsetof(struct record, written) == 160, "record as drawn above");
_Static_assert(offsetof(struct record, fault) == 216, "record as drawn above");

enum { FAULT_ERROR = 1, FAULT_NO_VALUE = 2, FAULT_LATE = 3 };

struct entry {
	uint64_t start_ns, end_ns;
	uint32_t kind, pad;
};
_Static_assert(sizeof(struct entry) == 24, "entry as drawn above");

struct span { uint64_t start_ns, end_ns; };

/* NVML's utilisation counters cover 1/6 s to 1 s; the shorter is what data centre cards do. */
static const uint64_t window_ns = 1000000000 / 6;

/* NVML keeps about 20 s of samples; so do we. */
enum { SAMPLES_KEPT = 120 };

/* No kernel lasts an hour: a longer interval is a torn or corrupt entry. */
static const uint64_t longest_ns = 3600ull * 1000000000;

struct device {
	unsigned int index;
	int metered;           /* energy has been asked for before */
	uint64_t metered_ns;   /* energy is counted up to here */
	double energy_mj;
};

/* lock guards everything below it; NVML promises to be thread-safe. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int initialised;
static int page_fd = -1;
static char page_path[4096];
static int64_t realtime_minus_monotonic_ns;
static struct device devices[MAX_DEVICES];
static struct entry chunk[4096];
static struct span spans[RING];

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* read_at fills all of buffer or returns 0: a truncated page is an unreadable one. */
static int read_at(void *buffer, size_t size, uint64_t offset)
{
	if (page_fd < 0)
		return 0;
	ssize_t n;
	do
		n = pread(page_fd, buffer, size, (off_t)offset);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)size;
}

/* open_page is tried again on every count until the trainer has made the page. */
static void open_page(void)
{
	struct stat st;
	if (page_fd >= 0 || !page_path[0])
		return;
	int fd = open(page_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
		close(fd);
		return;
	}
	page_fd = fd;
}

static void close_page(void)
{
	if (page_fd >= 0)
		close(page_fd);
	page_fd = -1;
}

/* device_count is 0 for a page that is absent, not ready or another user's. */
static unsigned int device_count(void)
{
	struct header h;
	open_page();
	if (!read_at(&h, sizeof h, 0))
		return 0;
	if (memcmp(h.magic, "STKEMUL1", 8) != 0 || h.version != 1 || h.device_count > MAX_DEVICES)
		return 0;
	return h.device_count;
}

static nvmlReturn_t read_record(unsigned int index, struct record *r)
{
	if (index >= device_count())
		return INVALID_ARGUMENT;
	if (!read_at(r, sizeof *r, RECORDS + (uint64_t)RECORD_SIZE * index))
		return UNKNOWN;
	r->chip[sizeof r->chip - 1] = 0;
	r->uuid[sizeof r->uuid - 1] = 0;
	return r->pid ? SUCCESS : NOT_READY;
}

static int by_start(const void *a, const void *b)
{
	uint64_t x = ((const struct span *)a)->start_ns, y = ((const struct span *)b)->start_ns;
	return (x > y) - (x < y);
}

/* merge makes spans ascending and disjoint, so that overlapping work counts once. */
static size_t merge(size_t n)
{
	size_t kept = 0;
	qsort(spans, n, sizeof spans[0], by_start);
	for (size_t i = 0; i < n; i++) {
		if (kept && spans[i].start_ns <= spans[kept - 1].end_ns) {
			if (spans[i].end_ns > spans[kept - 1].end_ns)
				spans[kept - 1].end_ns = spans[i].end_ns;
			continue;
		}
		spans[kept++] = spans[i];
	}
	return kept;
}

/*
 * collect puts the device's work between from and to into spans, newest entries
 * first until a whole chunk ends before from, and returns how many there are.
 */
static size_t collect(unsigned int index, uint64_t written, uint64_t from, uint64_t to, uint32_t kinds)
{
	const uint64_t ring = HEADER_SIZE + (uint64_t)index * RING * sizeof(struct entry);
	const size_t limit = sizeof chunk / sizeof chunk[0];
	uint64_t left = written < RING ? written : RING;
	uint64_t last = written % RING;
	size_t n = 0;
	for (int relevant = 1; left && relevant;) {
		if (last == 0)
			last = RING;
		size_t size = limit;
		if (size > left)
			size = left;
		if (size > last)
			size = last;
		if (!read_at(chunk, size * sizeof chunk[0], ring + (last - size) * sizeof chunk[0]))
			break;
		relevant = 0;
		for (size_t i = 0; i < size; i++) {
			const struct entry *e = &chunk[i];
			if (e->start_ns >= e->end_ns || e->end_ns - e->start_ns > longest_ns)
				continue;
			if (e->end_ns <= from)
				continue;
			relevant = 1;
			if (e->start_ns >= to || e->kind < KIND_KERNEL || e->kind > KIND_STAGED || !(kinds & 1u << e->kind))
				continue;
			spans[n].start_ns = e->start_ns < from ? from : e->start_ns;
			spans[n++].end_ns = e->end_ns > to ? to : e->end_ns;
		}
		left -= size;
		last -= size;
	}
	return merge(n);
}

/* within is how much of [from, to) the n merged spans cover. */
static uint64_t within(size_t n, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t a = spans[i].start_ns > from ? spans[i].start_ns : from;
		uint64_t b = spans[i].end_ns < to ? spans[i].end_ns : to;
		if (a < b)
			sum += b - a;
	}
	return sum;
}

/* busy_share is the share of the last window that work of these kinds took. */
static double busy_share(unsigned int index, const struct record *r, uint32_t kinds)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), from = now - window_ns;
	size_t n = collect(index, r->written, from, now, kinds);
	return (double)within(n, from, now) / (double)window_ns;
}

/* extra_mw is what a kernel draws above idle: up to the limit, a simple model. */
static double extra_mw(const struct record *r)
{
	return r->limit_mw > r->idle_mw ? (double)(r->limit_mw - r->idle_mw) : 0;
}

/* oldest_ns is since when the ring is complete: before it, entries have been overwritten. */
static uint64_t oldest_ns(unsigned int index, const struct record *r)
{
	struct entry e;
	uint64_t at = HEADER_SIZE + ((uint64_t)index * RING + r->written % RING) * sizeof e;
	if (r->written <= RING)
		return r->created_ns;
	return read_at(&e, sizeof e, at) && e.start_ns > r->created_ns ? e.start_ns : r->created_ns;
}

/* ---- what NVML exports ---- */

/* begin locks, checks the handle and reads its record; pairs with finish. */
static nvmlReturn_t begin(nvmlDevice_t device, const void *out, struct record *r)
{
	pthread_mutex_lock(&lock);
	if (!initialised)
		return UNINITIALIZED;
	if (!out || device < devices || device >= devices + MAX_DEVICES)
		return INVALID_ARGUMENT;
	nvmlReturn_t code = read_record(device->index, r);
	if (code == SUCCESS && r->fault == FAULT_LATE) {
		struct timespec late = { r->late_ms / 1000, r->late_ms % 1000 * 1000000 };
		nanosleep(&late, NULL);
	}
	return code == SUCCESS && r->fault == FAULT_ERROR ? GPU_IS_LOST : code;
}

/* finish pairs with begin. */
static nvmlReturn_t finish(nvmlReturn_t code)
{
	pthread_mutex_unlock(&lock);
	return code;
}

/* answer is finish with a value, which is all ones where the device is told to have none. */
static nvmlReturn_t answer(nvmlReturn_t code, const struct record *r, void *out, size_t size)
{
	if (code == SUCCESS && r->fault == FAULT_NO_VALUE)
		memset(out, 0xff, size);
	return finish(code);
}

/* put_text copies a text into a caller's buffer, whole or not at all. */
static nvmlReturn_t put_text(char *out, unsigned int length, const char *text)
{
	if (strlen(text) + 1 > length)
		return INSUFFICIENT_SIZE;
	memcpy(out, text, strlen(text) + 1);
	return SUCCESS;
}

/*
 * stokerEmulatedOpen says where the page is. It is not part of NVML: our
 * binding calls it after loading, because a Go program without cgo cannot set
 * an environment variable that libc sees. The file need not be there yet.
 */
int stokerEmulatedOpen(const char *path)
{
	int code = SUCCESS;
	pthread_mutex_lock(&lock);
	close_page();
	memset(devices, 0, sizeof devices);
	page_path[0] = 0;
	if (!path || strlen(path) >= sizeof page_path)
		code = INVALID_ARGUMENT;
	else
		strcpy(page_path, path);
	return finish(code);
}

nvmlReturn_t nvmlInit_v2(void)
{
	pthread_mutex_lock(&lock);
	/* Taken once: a stepped wall clock must not make sample stamps jump. */
	if (!initialised++)
		realtime_minus_monotonic_ns = (int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC));
	return finish(SUCCESS);
}

nvmlReturn_t nvmlShutdown(void)
{
	pthread_mutex_lock(&lock);
	if (!initialised)
		return finish(UNINITIALIZED);
	if (!--initialised)
		close_page();
	return finish(SUCCESS);
}

const char *nvmlErrorString(nvmlReturn_t code)
{
	switch (code) {
	case SUCCESS: return "Success";
	case UNINITIALIZED: return "Uninitialized";
	case INVALID_ARGUMENT: return "Invalid Argument";
	case NOT_SUPPORTED: return "Not Supported";
	case NOT_FOUND: return "Not Found";
	case INSUFFICIENT_SIZE: return "Insufficient Size";
	case GPU_IS_LOST: return "GPU is lost";
	case NOT_READY: return "Not Ready";
	default: return "Unknown Error";
	}
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	return version ? put_text(version, length, "999.0 (emulated)") : INVALID_ARGUMENT;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	if (!version)
		return INVALID_ARGUMENT;
	*version = 99000; /* 99.0: a version that no real driver has */
	return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
	pthread_mutex_lock(&lock);
	if (!initialised || !count)
		return finish(initialised ? INVALID_ARGUMENT : UNINITIALIZED);
	*count = device_count();
	return finish(SUCCESS);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	struct record r;
	pthread_mutex_lock(&lock);
	if (!initialised || !device)
		return finish(initialised ? INVALID_ARGUMENT : UNINITIALIZED);
	nvmlReturn_t code = read_record(index, &r);
	if (code != SUCCESS)
		return finish(code);
	devices[index].index = index;
	*device = &devices[index];
	return finish(SUCCESS);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	struct record r;
	char text[sizeof r.chip + sizeof " (emulated)"];
	nvmlReturn_t code = begin(device, name, &r);
	if (code != SUCCESS)
		return finish(code);
	snprintf(text, sizeof text, "%s (emulated)", r.chip);
	return finish(put_text(name, length, text));
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	struct record r;
	nvmlReturn_t code = begin(device, uuid, &r);
	return finish(code == SUCCESS ? put_text(uuid, length, r.uuid) : code);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *out)
{
	struct record r;
	nvmlReturn_t code = begin(device, out, &r);
	if (code != SUCCESS)
		return finish(code);
	out->gpu = (unsigned int)(100 * busy_share(device->index, &r, UTILISED) + 0.5);
	out->memory = (unsigned int)(100 * busy_share(device->index, &r, UTILISED | 1u << KIND_STAGED) + 0.5);
	return answer(SUCCESS, &r, out, sizeof *out);
}

/*
 * put_samples writes one sample per window that ended after lastSeen and
 * before now, oldest first, and returns how many. Windows are counted from the
 * device's creation; one that reaches back into overwritten entries is left out.
 */
static unsigned int put_samples(struct device *device, const struct record *r, unsigned long long last_seen,
				nvmlSample_t *samples, unsigned int room)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), oldest = oldest_ns(device->index, r);
	if (r->created_ns > now)
		return 0;
	uint64_t ended = (now - r->created_ns) / window_ns;
	uint64_t k = ended > SAMPLES_KEPT ? ended - SAMPLES_KEPT : 0;
	size_t spans_used = collect(device->index, r->written, r->created_ns + k * window_ns, now, UTILISED);
	unsigned int put = 0;
	for (; k < ended && put < room; k++) {
		uint64_t from = r->created_ns + k * window_ns, to = from + window_ns;
		uint64_t stamp = (to + (uint64_t)realtime_minus_monotonic_ns) / 1000;
		if (stamp <= last_seen || from < oldest)
			continue;
		memset(&samples[put], 0, sizeof samples[put]);
		samples[put].timeStamp = stamp;
		samples[put++].value.u = (unsigned int)(100.0 * (double)within(spans_used, from, to) / (double)window_ns + 0.5);
	}
	return put;
}

nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, int type, unsigned long long lastSeenTimeStamp,
				  int *valueType, unsigned int *sampleCount, nvmlSample_t *samples)
{
	struct record r;
	nvmlReturn_t code = begin(device, sampleCount, &r);
	if (code != SUCCESS)
		return finish(code);
	if (!valueType || (samples && !*sampleCount))
		return finish(INVALID_ARGUMENT);
	if (type != GPU_UTILIZATION_SAMPLES)
		return finish(NOT_SUPPORTED);
	*valueType = VALUE_UNSIGNED_INT;
	if (!samples) {
		*sampleCount = SAMPLES_KEPT;
		return finish(SUCCESS);
	}
	*sampleCount = put_samples(device, &r, lastSeenTimeStamp, samples, *sampleCount);
	return finish(*sampleCount ? SUCCESS : NOT_FOUND);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *out)
{
	struct record r;
	nvmlReturn_t code = begin(device, out, &r);
	if (code != SUCCESS)
		return finish(code);
	out->total = r.memory_total;
	out->used = r.memory_used; /* 2^64-1, as in NVML, where nobody said */
	out->free = r.memory_used <= r.memory_total ? r.memory_total - r.memory_used : UINT64_MAX;
	return answer(SUCCESS, &r, out, sizeof *out);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *milliwatts)
{
	struct record r;
	nvmlReturn_t code = begin(device, milliwatts, &r);
	if (code != SUCCESS)
		return finish(code);
	*milliwatts = r.idle_mw + (unsigned int)(extra_mw(&r) * busy_share(device->index, &r, 1u << KIND_KERNEL));
	return answer(SUCCESS, &r, milliwatts, sizeof *milliwatts);
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *milliwatts)
{
	struct record r;
	nvmlReturn_t code = begin(device, milliwatts, &r);
	if (code == SUCCESS)
		*milliwatts = r.limit_mw;
	return answer(code, &r, milliwatts, sizeof *milliwatts);
}

/* The meter starts at 0 with the first question, as NVML's does with the driver: differences count. */
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *millijoules)
{
	struct record r;
	nvmlReturn_t code = begin(device, millijoules, &r);
	if (code != SUCCESS)
		return finish(code);
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	if (device->metered && device->metered_ns < now) {
		uint64_t from = device->metered_ns;
		size_t n = collect(device->index, r.written, from, now, 1u << KIND_KERNEL);
		device->energy_mj += r.idle_mw * (double)(now - from) / 1e9;
		device->energy_mj += extra_mw(&r) * (double)within(n, from, now) / 1e9;
	}
	device->metered = 1;
	device->metered_ns = now;
	*millijoules = (unsigned long long)device->energy_mj;
	return answer(SUCCESS, &r, millijoules, sizeof *millijoules);
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned int *mhz)
{
	struct record r;
	nvmlReturn_t code = begin(device, mhz, &r);
	if (code == SUCCESS && type != CLOCK_OF_SM && type != CLOCK_OF_GRAPHICS)
		code = NOT_SUPPORTED;
	if (code == SUCCESS)
		*mhz = r.sm_clock_mhz;
	return answer(code, &r, mhz, sizeof *mhz);
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, int type, unsigned int *mhz)
{
	struct record r;
	nvmlReturn_t code = begin(device, mhz, &r);
	if (code == SUCCESS && type != CLOCK_OF_SM && type != CLOCK_OF_GRAPHICS)
		code = NOT_SUPPORTED;
	if (code == SUCCESS)
		*mhz = r.max_sm_clock_mhz;
	return answer(code, &r, mhz, sizeof *mhz);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos)
{
	struct record r;
	nvmlReturn_t code = begin(device, count, &r);
	if (code != SUCCESS)
		return finish(code);
	unsigned int room = *count;
	int alive = r.pid <= INT32_MAX && (kill((pid_t)r.pid, 0) == 0 || errno == EPERM);
	*count = alive ? 1 : 0;
	if (!alive)
		return finish(SUCCESS);
	if (!infos || room < 1)
		return finish(INSUFFICIENT_SIZE);
	memset(infos, 0, sizeof *infos);
	infos->pid = r.pid;
	infos->usedGpuMemory = r.memory_used;
	infos->gpuInstanceId = infos->computeInstanceId = UINT32_MAX; /* not in MIG mode */
	if (r.stranger && room > 1) {
		infos[1] = infos[0];
		infos[1].pid = r.stranger;
		*count = 2;
	}
	return answer(SUCCESS, &r, infos, *count * sizeof *infos);
}

/* put_told answers with a number of the record; 0 is one that nobody told. */
static nvmlReturn_t put_told(nvmlDevice_t device, unsigned int *out, size_t field)
{
	struct record r;
	nvmlReturn_t code = begin(device, out, &r);
	if (code != SUCCESS)
		return finish(code);
	memcpy(out, (const char *)&r + field, sizeof *out);
	return answer(*out ? SUCCESS : NOT_SUPPORTED, &r, out, sizeof *out);
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned int *out)
{
	return put_told(device, out, offsetof(struct record, link_gen));
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned int *out)
{
	return put_told(device, out, offsetof(struct record, link_width));
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int *out)
{
	return put_told(device, out, offsetof(struct record, max_link_gen));
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned int *out)
{
	return put_told(device, out, offsetof(struct record, max_link_width));
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *out)
{
	struct record r;
	nvmlReturn_t code = begin(device, out, &r);
	if (code == SUCCESS)
		*out = r.reasons;
	return answer(code, &r, out, sizeof *out);
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *now, unsigned int *pending)
{
	struct record r;
	nvmlReturn_t code = begin(device, now, &r);
	if (code == SUCCESS)
		*now = *pending = r.mig;
	return answer(code, &r, now, sizeof *now);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *out)
{
	struct record r;
	nvmlReturn_t code = begin(device, out, &r);
	if (code == SUCCESS) {
		memset(out, 0, sizeof *out);
		strcpy(out->busId, "FFFFFFFF:FF:1F.7"); /* on no machine */
	}
	return answer(code, &r, out, sizeof *out);
}

/* The newest value of each process: the owner's busy share, and the stranger's. */
nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *out, unsigned int *count, unsigned long long lastSeen)
{
	struct record r;
	nvmlReturn_t code = begin(device, count, &r);
	if (code != SUCCESS)
		return finish(code);
	unsigned int room = *count;
	unsigned long long now = (clock_ns(CLOCK_MONOTONIC) + (uint64_t)realtime_minus_monotonic_ns) / 1000;
	*count = r.stranger ? 2 : 1;
	if (!out || room < *count)
		return finish(INSUFFICIENT_SIZE);
	if (lastSeen >= now)
		return finish(NOT_FOUND);
	memset(out, 0, *count * sizeof *out);
	out[0].pid = r.pid;
	out[0].timeStamp = now;
	out[0].smUtil = (unsigned int)(100 * busy_share(device->index, &r, 1u << KIND_KERNEL) + 0.5);
	if (r.stranger) {
		out[1].pid = r.stranger;
		out[1].timeStamp = now;
		out[1].smUtil = r.stranger_percent;
	}
	return answer(SUCCESS, &r, out, *count * sizeof *out);
}

/* A sample of the counters is when it was taken, of which device. */
struct gpm_sample {
	uint64_t at_ns;
	unsigned int index;
};

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *out)
{
	struct record r;
	nvmlReturn_t code = begin(device, out, &r);
	if (code == SUCCESS)
		out->isSupportedDevice = r.sm_active != 0;
	return finish(code);
}

nvmlReturn_t nvmlGpmSampleAlloc(struct gpm_sample **out)
{
	*out = calloc(1, sizeof **out);
	return *out ? SUCCESS : UNKNOWN;
}

nvmlReturn_t nvmlGpmSampleFree(struct gpm_sample *sample)
{
	free(sample);
	return SUCCESS;
}

nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, struct gpm_sample *sample)
{
	struct record r;
	nvmlReturn_t code = begin(device, sample, &r);
	if (code == SUCCESS) {
		sample->at_ns = clock_ns(CLOCK_MONOTONIC);
		sample->index = device->index;
	}
	return finish(code);
}

nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *ask)
{
	struct record r;
	if (!ask || ask->version != 1 || ask->numMetrics > GPM_MOST || !ask->sample1 || !ask->sample2)
		return INVALID_ARGUMENT;
	nvmlReturn_t code = begin(&devices[ask->sample2->index], ask, &r);
	if (code != SUCCESS)
		return finish(code);
	uint64_t from = ask->sample1->at_ns, to = ask->sample2->at_ns;
	if (from >= to)
		return finish(INVALID_ARGUMENT);
	size_t n = collect(ask->sample2->index, r.written, from, to, 1u << KIND_KERNEL);
	double kernels = (double)within(n, from, to) / (double)(to - from);
	n = collect(ask->sample2->index, r.written, from, to, 1u << KIND_COPY);
	double copies = (double)within(n, from, to) / (double)(to - from);
	/* A lane of the third generation carries about 1 GB/s, each one after it twice as much: MiB/s of the copies. */
	double link = r.link_gen < 3 || r.link_gen > 8 ? 0 : r.link_width * (1u << (r.link_gen - 3)) * 1e9 / (1 << 20);
	for (unsigned int i = 0; i < ask->numMetrics; i++) {
		ask->metrics[i].nvmlReturn = SUCCESS;
		switch (ask->metrics[i].metricId) {
		case GPM_GRAPHICS_UTIL: ask->metrics[i].value = 100 * kernels; break;
		case GPM_SM_UTIL: ask->metrics[i].value = r.sm_active / 10.0 * kernels; break;
		case GPM_PCIE_IN: ask->metrics[i].value = link * copies; break;
		case GPM_PCIE_OUT: ask->metrics[i].value = 0; break;
		default: ask->metrics[i].nvmlReturn = NOT_SUPPORTED;
		}
		if (r.fault == FAULT_NO_VALUE)
			memset(&ask->metrics[i].value, 0xff, sizeof ask->metrics[i].value);
	}
	return finish(SUCCESS);
}
