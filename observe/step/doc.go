// Package step is the probe for training steps: it listens on the socket that the
// start-up hook (python/hook) reports to, and turns its records into a
// recording's steps, clocks, facts and samples.
//
// It does not trust its input: packets come from programs that we did not
// write. Only processes of the same user are heard, every packet, text and count
// has a bound, and malformed parts are counted and left out. It decides nothing
// about what the steps mean.
//
// The protocol, version 1, is python/hook/protocol.txt, which lists every kind of
// record; the other side is the hook. Each process connects an AF_UNIX
// SOCK_SEQPACKET socket to the path in STOKER_HOOK_SOCKET. A packet is at most
// 32 KiB, one JSON object: {"v":1,"pid":_,"seq":_,"dropped":_,"records":[{"k":kind,...},...]}.
// seq counts the packets of a process from 0; dropped is the number of records
// lost since the packet before. Times are integer ns of CLOCK_MONOTONIC, tids are
// native thread ids, null is unknown.
package step
