// Package serve is the daemon: sessions of ranks over a unix socket.
package serve
