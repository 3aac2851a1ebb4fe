package recording

import "strings"

// What calls of a runtime or driver do, by their names: those of CUDA, HIP, MUSA, Level Zero and
// SYCL's Unified Runtime, and Ascend's.

// makers are the prefixes of such calls.
var makers = []string{"cuda", "hip", "cu", "musa", "ze", "ur", "AscendCL@aclrt", "Runtime@", "Node@"}

// RuntimeCall takes the maker's prefix off a call's name, and reports whether it has one.
func RuntimeCall(name string) (call string, known bool) {
	for _, prefix := range makers {
		if call, found := strings.CutPrefix(name, prefix); found {
			return call, true
		}
	}
	return name, false
}

// AllocatesMemory reports whether a call gets or gives back memory.
func AllocatesMemory(name string) bool {
	call, known := RuntimeCall(name)
	return known && ContainsAny(call, "Malloc", "Free", "HostAlloc", "HostRegister", "HostUnregister", "MemMap",
		"MemUnmap", "MemCreate", "MemRelease", "MemAlloc", "MemAddress", "MemSetAccess", "MemPool", "USMDeviceAlloc",
		"USMSharedAlloc")
}

// SharesMemory reports whether a call gets memory that host and device both read and write.
func SharesMemory(name string) bool {
	call, known := RuntimeCall(name)
	return known && ContainsAny(call, "MallocManaged", "MemAllocManaged", "USMSharedAlloc", "MemAllocShared")
}

// WaitsForDevice reports whether a call returns when work of the device has ended.
func WaitsForDevice(name string) bool {
	return strings.Contains(name, "Synchronize") || name == "urQueueFinish" || name == "urEventWait"
}

// AwaitsSystem reports whether a call of the operating system waits: for a file, a thread, a process or a time.
func AwaitsSystem(name string) bool { return systemWaits[name] }

var systemWaits = map[string]bool{
	"poll": true, "ppoll": true, "select": true, "pselect": true, "epoll_wait": true, "epoll_pwait": true,
	"wait": true, "wait3": true, "wait4": true, "waitpid": true, "waitid": true, "pause": true, "sleep": true,
	"usleep": true, "nanosleep": true, "clock_nanosleep": true, "pthread_cond_wait": true, "pthread_join": true,
	"pthread_cond_timedwait": true, "pthread_cond_clockwait": true, "sem_wait": true, "sem_timedwait": true,
	"sem_clockwait": true, "sigwait": true, "sigtimedwait": true,
}

// CopiesMemory reports whether a call copies.
func CopiesMemory(name string) bool {
	call, known := RuntimeCall(name)
	return known && (strings.HasPrefix(call, "Memcpy") || ContainsAny(call, "USMMemcpy", "AppendMemoryCopy", "MemCopy"))
}

// LaunchesGraph reports whether a call puts a whole graph on a device.
func LaunchesGraph(name string) bool { return strings.Contains(name, "GraphLaunch") }

// FusedKernel reports whether PyTorch's compiler made a kernel of several operators.
func FusedKernel(name string) bool {
	return ContainsAny(name, "triton_poi_fused", "triton_red_fused", "triton_per_fused", "triton_tem_fused")
}

// ExecutesOperator reports whether a call of Ascend's runtime prepares one operator and runs it, again in each step.
func ExecutesOperator(name string) bool { return strings.Contains(name, "aclopCompileAndExecute") }

// ScriptKernel reports whether TorchScript's fuser made a kernel, which it compiles when it first runs.
func ScriptKernel(name string) bool { return strings.HasPrefix(name, "fused_") }

// LaunchesWork reports whether a call puts a kernel or a graph on a device.
func LaunchesWork(name string) bool { return strings.Contains(name, "Launch") || name == "Node@launch" }
