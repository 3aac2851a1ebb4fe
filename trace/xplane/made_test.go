package xplane

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// A small encoder of XSpace, so that tests hold every byte that they speak of.

func num(field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), v)
}

func msg(field protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), bytes.Join(parts, nil))
}

func txt(field protowire.Number, s string) []byte { return msg(field, []byte(s)) }

// namer gives numbers to names, as a plane's two maps do.
type namer struct{ events, stats map[string]uint64 }

func newNamer() *namer { return &namer{map[string]uint64{}, map[string]uint64{}} }

func number(m map[string]uint64, name string) uint64 {
	if m[name] == 0 {
		m[name] = uint64(len(m) + 1)
	}
	return m[name]
}

// ev is an event with times in us; stats alternate name and value: uint64, int,
// string (as its number), []byte (as text).
func (n *namer) ev(name string, at, length float64, stats ...any) []byte {
	parts := [][]byte{num(1, number(n.events, name)), num(2, uint64(at*1e6)), num(3, uint64(length*1e6))}
	return msg(4, append(parts, n.values(4, stats...)...)...)
}

func (n *namer) values(field protowire.Number, stats ...any) (parts [][]byte) {
	for i := 0; i < len(stats); i += 2 {
		id := num(1, number(n.stats, stats[i].(string)))
		switch v := stats[i+1].(type) {
		case int:
			parts = append(parts, msg(field, id, num(4, uint64(v))))
		case uint64:
			parts = append(parts, msg(field, id, num(3, v)))
		case string:
			parts = append(parts, msg(field, id, num(7, number(n.stats, v))))
		case []byte:
			parts = append(parts, msg(field, id, txt(5, string(v))))
		}
	}
	return parts
}

func row(id uint64, name string, at uint64, events ...[]byte) []byte {
	return msg(3, num(1, id), txt(2, name), num(3, at), bytes.Join(events, nil))
}

// plane is written as TensorFlow and JAX do: names behind the lines.
func (n *namer) plane(name string, body ...[]byte) []byte {
	parts := [][]byte{txt(2, name)}
	parts = append(parts, body...)
	for _, list := range []struct {
		field protowire.Number
		m     map[string]uint64
	}{{4, n.events}, {5, n.stats}} {
		for _, name := range slices.Sorted(maps.Keys(list.m)) {
			id := list.m[name]
			parts = append(parts, msg(list.field, num(1, id), msg(2, num(1, id), txt(2, name))))
		}
	}
	return msg(1, parts...)
}

func (n *namer) planeStats(stats ...any) []byte { return bytes.Join(n.values(6, stats...), nil) }

// gpuProfile is a profile of three steps on one GPU: in each a wait for the batch, a
// copy from pageable memory, two kernels, the second launched late.
func gpuProfile() []byte {
	host, gpu, task := newNamer(), newNamer(), newNamer()
	var calls, marks, kernels, copies [][]byte
	for i := range 3 {
		at, id := float64(1000*i), 10*i
		marks = append(marks, host.ev("train", at, 990, "step_num", i+7))
		calls = append(calls,
			host.ev("IteratorGetNextOp::DoCompute", at+10, 300),
			host.ev("Iterator::Prefetch", at+15, 290),
			host.ev("MemcpyH2D", at+320, 20, "correlation_id", id+1, "memcpy_details", "size:4096 dest:0 async:1"),
			host.ev("my_kernel", at+350, 5, "correlation_id", id+2, "kernel_details", "grid:160,1,1 block:1024,1,1"),
			host.ev("cuLaunchKernel", at+600, 5, "correlation_id", id+3),
			host.ev("MatMul:MatMul", at+345, 20),
			host.ev("MemoryAllocation", at+400, 0))
		copies = append(copies, gpu.ev("MemcpyH2D", at+335, 10, "correlation_id", id+1,
			"memcpy_details", []byte("kind_src:pageable kind_dst:device size:4096 dest:0 async:1")))
		kernels = append(kernels,
			gpu.ev("my_kernel", at+360, 100, "correlation_id", id+2, "kernel_details", "regs:38 shm:0 grid:160,1,1 block:1024,1,1 occ_pct:50"),
			gpu.ev("ncclDevKernel_AllReduce", at+610, 200, "correlation_id", id+3))
	}
	frame := host.ev("$train.py:41 forward", 340, 300)
	short := host.ev("$builtins isinstance", 341, 1)
	steps := gpu.ev("0", 335, 475, "group_id", 0)
	hostPlane := host.plane("/host:CPU",
		row(11, "python3", 5000, append(marks, frame, short)...), row(12, "tf_gpu_private_0", 5000, calls...))
	gpuPlane := gpu.plane("/device:GPU:0",
		row(3, "Stream #3(MemcpyH2D)", 5000, copies...), row(4, "Stream #4(Compute)", 5000, kernels...),
		row(5, "TensorFlow Ops", 5000, gpu.ev("MatMul", 360, 100)), row(6, "Steps", 5000, steps),
		gpu.planeStats("core_count", uint64(80), "compute_cap_major", uint64(7), "compute_cap_minor", uint64(0), "memory_size", uint64(16e9), "device_type_string", "Tesla V100"))
	taskPlane := task.plane("Task Environment", task.planeStats("profile_start_time", uint64(1.7e18)))
	return bytes.Join([][]byte{hostPlane, gpuPlane, taskPlane, txt(4, "host-a")}, nil)
}

func read(b []byte, o Options) (*Trace, error) {
	return Read(context.Background(), func() (io.Reader, error) { return bytes.NewReader(b), nil }, o)
}

func mustRead(t *testing.T, b []byte) *Trace {
	t.Helper()
	trace, err := read(b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return trace
}
