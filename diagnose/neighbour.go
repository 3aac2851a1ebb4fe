package diagnose

var neighbour = Rule{
	Class:  Neighbour,
	Title:  "Other programs have the cores",
	Text:   "Preparing batches waits for cores that other programs of this machine use; without them the job's own cores would do better.",
	Limits: "Who the others are is not recorded: the ranks of a job that are observed one by one are each other's. Where loading mostly waits for something else than a core, they are not its limit.",
	check: func(c *Case) float64 {
		if c.yes(c.Neighbours) == 0 {
			return 0
		}
		return c.no(c.Throttled) * c.coresRunOut()
	},
}
