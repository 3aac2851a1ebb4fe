package feed

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker"
)

// feedFlags are the flags of the verb.
type feedFlags struct {
	fd, ranks, parent int
	socket, check     string
	threads, nice     int
	record            string
	quarantine        string
	size, compared    int
	ray               string
	rayResources      string // as --ray-resources has it
	rayLabels         string
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
	case given("ray") && (!command || !isCluster(f.ray)):
		return fmt.Errorf("--ray %q: the address of a cluster (auto, HOST:PORT or local), and a command behind --, "+
			"are expected", f.ray)
	case (given("ray-resources") || given("ray-labels")) && f.ray == "":
		return errors.New("--ray-resources and --ray-labels are of a cluster's workers: --ray ADDRESS is expected too")
	case !isAmounts(f.rayResources):
		return fmt.Errorf("--ray-resources %q: NAME=AMOUNT,… is expected, such as CPU=2,ssd=0.1", f.rayResources)
	case !isPairs(f.rayLabels):
		return fmt.Errorf("--ray-labels %q: NAME=VALUE,… is expected, such as zone=a", f.rayLabels)
	case given("workers") && (f.ray == "" || f.workers < 1 || f.workers > stoker.MostInCluster):
		return fmt.Errorf("--workers %d: 1 to %d workers for each DataLoader, and --ray, are expected", f.workers,
			stoker.MostInCluster)
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

// isCluster reports whether a text names a Ray cluster. A URL is of Ray's clients, which have no object store here.
func isCluster(address string) bool {
	host, port, err := net.SplitHostPort(address)
	_, wrong := strconv.ParseUint(port, 10, 16)
	return address == "auto" || address == "local" || (err == nil && wrong == nil && host != "")
}

// isPairs reports whether a text is a list of NAME=VALUE, or empty.
func isPairs(list string) bool {
	return list == "" || !slices.ContainsFunc(strings.Split(list, ","), func(pair string) bool {
		name, value, found := strings.Cut(pair, "=")
		return !found || name == "" || value == ""
	})
}

// isAmounts reports whether the values of such a list are amounts from 0 on.
func isAmounts(list string) bool {
	return isPairs(list) && (list == "" || !slices.ContainsFunc(strings.Split(list, ","), func(pair string) bool {
		_, value, _ := strings.Cut(pair, "=")
		amount, err := strconv.ParseFloat(value, 64)
		return err != nil || !(amount >= 0)
	}))
}
