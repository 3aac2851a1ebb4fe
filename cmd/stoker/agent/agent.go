// Package agent is the verb that watches every GPU of a node.
package agent

import (
	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cost"
)

// agentPort is where an agent listens if nobody says otherwise.
const agentPort = "9779"

type agentFlags struct {
	cost.Flags

	listen, tokenFile, figures string
	mostSeries                 int
}

// Command makes the command stoker agent.
func Command(a *cli.App) *cobra.Command {
	var o agentFlags
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Watch every GPU of a node, as a service for Prometheus",
		Long: `Serve the state of every GPU of this node on /metrics: its job, starved or not, since when, and what
idling costs. The agent runs as any user, writes nothing, and listens on loopback unless told otherwise.`,
		Example: `  stoker agent
  stoker agent --figures /var/lib/stoker/figures   with the verdicts of jobs (observe --prometheus)
  stoker agent --listen 0.0.0.0:9779 --token-file /etc/stoker/token`,
		Args: cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.Began = true
			return runAgent(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.listen, "listen", "127.0.0.1:"+agentPort, "`ADDRESS:PORT` to listen on")
	flags.StringVar(&o.tokenFile, "token-file", "",
		"`FILE` with the token that a scrape has to send (Authorization: Bearer TOKEN)")
	flags.StringVar(&o.figures, "figures", "",
		"`FOLDER` into which the jobs of this node write with stoker observe --prometheus")
	flags.StringVar(&o.Price, "price", "", "`PRICE` of a GPU: $2.50/h (default: its list price)")
	flags.IntVar(&o.mostSeries, "most-series", 1000, "`N` series at most in a scrape (further GPUs are left out whole)")
	return cmd
}
