package hostnetwork

import (
	"github.com/bedplate/bedplate/internal/dpf/journal"
)

// recordOriginal of what a step is about to change, if the journal doesn't have it.
func recordOriginal(action Action, f Facts, c *journal.Cluster) {
	switch {
	case action == ReleaseOperator && c.Override == nil:
		c.Override = &journal.Override{Mark: journal.Mark{UID: f.VersionUID}, Entry: f.Override}
	case action == StopOperator && c.Operator == nil:
		c.Operator = &journal.Operator{Mark: journal.Mark{UID: f.OperatorUID}, Replicas: *f.Operator}
	case action == DeleteWebhook && c.Webhook == nil:
		c.Webhook = &journal.Webhook{Configuration: f.Webhook}
		if f.Webhook != nil {
			c.Webhook.UID = f.Webhook.UID
		}
	case action == KeepAway && c.DaemonSet == nil:
		c.DaemonSet = &journal.DaemonSet{Mark: journal.Mark{UID: f.StockUID}, Affinity: f.Affinity}
	case action == MarkStopped:
		operator := *c.Operator
		operator.Stopped = true
		c.Operator = &operator
	}
}

// markRestored what a step takes back, with what others have changed since.
func markRestored(action Action, f Facts, c *journal.Cluster) {
	switch action {
	case LetBack:
		entry := *c.DaemonSet
		_, entry.Note = affinityBack(f.Affinity, *c)
		entry.Restored, c.DaemonSet = true, &entry
	case RestoreWebhook:
		entry := *c.Webhook
		_, entry.Note = webhookBack(f.Webhook, *c)
		entry.Restored, c.Webhook = true, &entry
	case StartOperator:
		entry := *c.Operator
		_, entry.Note = replicasBack(f.Operator, *c)
		entry.Restored, c.Operator = true, &entry
	case RestoreOverride:
		entry := *c.Override
		_, entry.Note = overrideBack(f.Override, *c)
		entry.Restored, c.Override = true, &entry
	}
}
