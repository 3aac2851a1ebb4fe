package main

import (
	"github.com/spf13/cobra"
)

// agentPort is where an agent listens if nobody says otherwise.
const agentPort = "9779"

type agentFlags struct {
	priceFlags

	listen, tokenFile, figures string
	mostSeries                 int
}

func (a *app) agent() *cobra.Command {
	var o agentFlags
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Watch every GPU of a node for Prometheus, as a service",
		Long: `Watch every GPU of this node until Ctrl-C and tell Prometheus on /metrics: which job it belongs to, starved or not,
since when, and what idling costs. From outside a GPU tells only that some kernel ran: it is called starved or fed on
the word of a job's own stoker observe --prometheus FOLDER/NAME.prom, and else low-use or in-use, cause unknown.
It runs as any user, writes nothing, and listens on loopback alone; another address takes a token.`,
		Example: `  stoker agent
  stoker agent --figures /var/lib/stoker/figures --price '$2/h'
  stoker agent --listen 0.0.0.0:9779 --token-file /etc/stoker/token
  curl -s 127.0.0.1:9779/metrics | grep state_info`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.began = true
			return a.runAgent(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.listen, "listen", "127.0.0.1:"+agentPort, "address and port")
	flags.StringVar(&o.tokenFile, "token-file", "", "file with the token that a scrape has to send (Authorization: Bearer TOKEN)")
	flags.StringVar(&o.figures, "figures", "", "folder in which jobs of this node keep what stoker observe --prometheus writes")
	flags.StringVar(&o.price, "price", "", "price of a GPU: $2.50/h (default: a list price of that GPU)")
	flags.IntVar(&o.mostSeries, "most-series", 1000, "series that a scrape may have; GPUs beyond are left out whole")
	return cmd
}
