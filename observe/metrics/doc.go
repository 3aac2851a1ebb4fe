// Package metrics reads what a server tells of itself: the Prometheus metrics of vLLM, SGLang, Triton and
// text-generation-inference (TGI), for servers that the start-up hook does not see, as those in Rust or C++ and
// those that ran before.
//
// Watch finds the servers among the processes of a job by their command lines, and the port that such a process
// listens on. Nothing is sent to any other port: a socket of another kind might take a request for its own protocol.
// It asks /metrics every two seconds on loopback, in a goroutine of its own, with limits on time and size, and
// follows no redirect. Of the page it reads the few metrics of the table in servers.go.
package metrics
