package failover

// Source says who set the model that a turn starts with.
type Source string

// The sources of a selection; docs/failover.md has the rules of each.
const (
	FromDefault   Source = "default"
	FromAgent     Source = "agent"
	FromUser      Source = "user"
	FromLegacy    Source = "legacy"
	FromAuto      Source = "auto"
	FromCron      Source = "cron"
	FromHeartbeat Source = "heartbeat"
	FromCLI       Source = "cli"
)
