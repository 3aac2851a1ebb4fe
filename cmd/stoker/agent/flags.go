package agent

import "github.com/stoker-dev/stoker/cmd/stoker/internal/cost"

// agentPort is the default port.
const agentPort = "9779"

type agentFlags struct {
	cost.Flags

	listen, tokenFile, figures string
	mostSeries                 int
}
