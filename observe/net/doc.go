// Package net is the probe for network interfaces: bytes in and out, packets that were
// lost, of Ethernet and the like (/proc/PID/net/dev) and of InfiniBand's ports, whose
// traffic passes the kernel by (/sys/class/infiniband). It reads and keeps nothing.
//
// Which bytes are the job's it does not know: interfaces are shared.
package net
