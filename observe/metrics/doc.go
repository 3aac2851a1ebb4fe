// Package metrics reads a server's own metrics: the Prometheus metrics of vLLM, SGLang, Triton
// and text-generation-inference (TGI). It serves for servers that the start-up hook does not
// see, such as those in Rust or C++ and those that ran before.
//
// Watch finds the servers among the processes of a job by their command lines, and the port on
// which such a process listens. It sends nothing to any other port: a socket of another kind
// might take a request for its own protocol. It asks /metrics every two seconds on loopback, in
// a separate goroutine, with limits on time and size, and follows no redirect. Of the page it
// reads only the metrics of the table in servers.go.
package metrics
