package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/stoker-dev/stoker/agent"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/sampling"
	"github.com/stoker-dev/stoker/internal/closed"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/internal/readable"
)

func runAgent(ctx context.Context, a *cli.App, o agentFlags) error {
	if o.mostSeries < 1 {
		return cli.AsUsage(fmt.Errorf("--most-series %d: one series at least is expected", o.mostSeries))
	}
	sampling.BeFrugal()
	own, err := o.ReadOwn()
	if err != nil {
		return err
	}
	door, err := o.readDoor(a.Say)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, cli.HeededSignals(os.Interrupt)...)
	defer stop()
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return hint.Attach(
			fmt.Errorf("serve metrics: %w", err),
			"stoker agent --listen 127.0.0.1:0 takes a port that is free",
		)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]"} {
		door.Hosts = append(door.Hosts, host+":"+port)
	}
	proc := agent.HostProc()
	if os.Getenv("STOKER_EMULATE") == "1" {
		proc = "/proc" // an emulated device has the process numbers of this namespace
	}
	watcher := agent.New(agent.Options{
		OpenGPU: sampling.OpenGPUs, Proc: proc, Figures: o.figures, Price: own.GPUHour,
		Most: o.mostSeries, Version: cli.Version,
		Warn: func(text string) { a.Say("%s", text) },
	})
	if proc == "" {
		a.Say("GPUs are told without jobs: the node's processes cannot be seen from here (hostPID: true in " +
			"Kubernetes, docker run --pid host, no hidepid)")
	}
	a.Say("serving http://%s/metrics until Ctrl-C", listener.Addr())
	server := closed.NewServer(watcher.Handler(door))
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	watcher.Run(ctx)
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// shortestToken is the shortest token that counts as a secret.
const shortestToken = 16

// readDoor returns who may call: every process of this machine if the agent listens on loopback,
// else callers with the token. The token's file is read at each request, so that the token can be
// changed. If the file cannot be read any more, all callers are rejected, and one line on stderr
// says why: callers only learn that their token is wrong.
func (o agentFlags) readDoor(say func(format string, args ...any)) (agent.Door, error) {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return agent.Door{}, cli.AsUsage(fmt.Errorf("--listen %s: expected an address and a port, such as 127.0.0.1:%s",
			o.listen, agentPort))
	}
	if o.tokenFile == "" {
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return agent.Door{}, cli.AsUsage(hint.Attach(
				fmt.Errorf("--listen %s: others than this machine could ask there, which takes a token", o.listen),
				"(umask 077; head -c 32 /dev/urandom | base64 > token) && stoker agent --listen "+o.listen+
					" --token-file token",
			))
		}
		return agent.Door{}, nil
	}
	read := func() (string, error) {
		text, err := readSecret(o.tokenFile)
		token := strings.TrimSpace(string(text))
		if err == nil && len(token) < shortestToken {
			err = fmt.Errorf("%s: a token has at least %d characters", o.tokenFile, shortestToken)
		}
		return token, err
	}
	if _, err := read(); err != nil {
		return agent.Door{}, fmt.Errorf("--token-file: %w", err)
	}
	var mu sync.Mutex
	said := ""
	return agent.Door{Token: func() (string, error) {
		token, err := read()
		mu.Lock()
		defer mu.Unlock()
		switch why := fmt.Sprint(err); {
		case err == nil && said != "":
			said = ""
			say("--token-file: %s can be used again", o.tokenFile)
		case err != nil && said != why:
			said = why
			say("nobody gets in: --token-file: %v", err)
		}
		return token, err
	}}, nil
}

// mostSecret is larger than any token.
const mostSecret = 1 << 16

// readSecret reads a file that only the user, root and its group can read, and only the user and
// root can write.
func readSecret(path string) ([]byte, error) {
	file, err := readable.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	owner, mode := info.Sys().(*syscall.Stat_t).Uid, info.Mode()
	switch {
	case !mode.IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: the agent reads it at each request", path)
	case owner != 0 && int(owner) != os.Geteuid():
		return nil, hint.Attach(
			fmt.Errorf("%s is user %d's, who can change it", path, owner),
			fmt.Sprintf("chown %d %s", os.Geteuid(), path),
		)
	case mode.Perm()&0o027 != 0:
		return nil, hint.Attach(
			fmt.Errorf("%s has mode %04o: others can read or change the token", path, mode.Perm()),
			"chmod 600 "+path+"    (in a container: the secret's mode, 0400)",
		)
	}
	return io.ReadAll(io.LimitReader(file, mostSecret))
}
