// Package capture has PyTorch's own profiler write a trace of a running job, by
// playing the daemon that libkineto looks for.
//
// A process that was started with KINETO_USE_DAEMON asks a daemon named dynolog,
// every five seconds, whether a trace is wanted. Listen answers those that its
// owner named (Daemon.Targets) and no others; the process writes the file itself
// and Daemon keeps it. Nothing is sent unasked, nothing is stopped, and a job
// whose daemon dies goes on.
//
// It does not read traces (package trace does) and does not decide when a job is
// warm (package observe does).
//
// # Protocol
//
// As libkineto of PyTorch 2.2.2, 2.6.0, 2.8.0 and 2.15.0 speaks it (measured on
// 2026-11-21; github.com/pytorch/kineto, IpcFabricConfigClient.cpp, and dynolog's
// ipcfabric/Endpoint.h). One message is one datagram, little-endian:
//
//	 0  u64       size of the payload
//	 8  char[32]  type, padded with NUL
//	40  payload
//
//	req   asks for a configuration; sent about every five seconds
//	      40  i32     kind: bits 1 events, 2 activities; 0: busy, a trace is being taken
//	      44  i32     n, at most 64 here
//	      48  i64     job: SLURM_JOB_ID or 0
//	      56  i32[n]  the process and its ancestors, upwards, in its own PID namespace
//	      answer: req, payload text of KEY=VALUE lines; size 0: nothing to do
//	ctxt  registers a process (none of the four versions sends it)
//	      40  i32 GPU, i32 process, i64 job
//	      answer: ctxt, payload i32
//
// The daemon's address is \0dynolog\0 in the abstract namespace, the client's
// \0dynoconfigclientUUID\0: the closing NUL is part of both names. Where the
// process has KINETO_IPC_SOCKET_DIR=D they are files D/dynolog and
// D/dynoconfigclientUUID instead, and a sender whose name does not begin with
// exactly D ends the process: so D is used as it is written, never cleaned.
package capture
