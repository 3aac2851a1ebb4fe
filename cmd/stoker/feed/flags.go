package feed

import (
	"errors"
	"fmt"
)

// mostWorkers is the largest value of --workers. [J]
const mostWorkers = 4096

// feedFlags are the flags of the verb.
type feedFlags struct {
	fd, ranks, parent int
	socket, check     string
	threads, nice     int
	record            string
	quarantine        string
	size, compared    int
	ray               string
	workers           int
	json              bool
}

// verify rejects flags that do not go together.
func (f feedFlags) verify(given func(flag string) bool, command bool) error {
	ways := 0
	if command {
		ways++
	}
	for _, flag := range []string{"fd", "socket", "check"} {
		if given(flag) {
			ways++
		}
	}
	switch {
	case ways == 0:
		return errors.New(
			"feed needs a command to run (-- python train.py), or --check FOLDER to look at a data set. The daemon " +
				"(--fd, --socket) is started by the Python client")
	case ways > 1:
		return errors.New("--fd, --socket, --check and a command exclude each other: give one")
	case given("verify") && (!command || f.compared < 1):
		return fmt.Errorf("--verify %d: a number of batches from 1, and a command behind --, are expected", f.compared)
	case given("ray") && (!command || f.ray == ""):
		return fmt.Errorf("--ray %q: the address of a cluster (auto, HOST:PORT or local), and a command behind --, "+
			"are expected", f.ray)
	case given("workers") && (f.ray == "" || f.workers < 1 || f.workers > mostWorkers):
		return fmt.Errorf("--workers %d: 1 to %d workers for each DataLoader, and --ray, are expected", f.workers,
			mostWorkers)
	case f.threads < 0 || f.threads > 1024:
		return fmt.Errorf("--threads %d: 1 to 1024 are possible", f.threads)
	case f.nice < 0 || f.nice > 19:
		return fmt.Errorf("--nice %d: 1 to 19 are possible", f.nice)
	case given("socket") && f.socket == "":
		return errors.New("--socket is empty: the path of a socket to be made is expected")
	case given("ranks") && (f.ranks < 1 || f.ranks > 1024):
		return fmt.Errorf("--ranks %d: 1 to 1024 are possible", f.ranks)
	case given("check") && (f.check == "" || f.size < 1 || f.size > 16384):
		return fmt.Errorf("--check %q --size %d: a folder, and a size from 1 to 16384, are expected", f.check, f.size)
	case given("check") && f.record != "":
		return errors.New("--record is for the daemon, and --check prints what it found")
	}
	return nil
}
