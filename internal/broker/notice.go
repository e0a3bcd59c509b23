package broker

import (
	"fmt"
	"slices"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// waiting says why a message waits: no run holds its recipient (BUS-NOTICE-29).
type waiting struct {
	Role     wire.Role  `json:"role"`
	Launcher *wire.Role `json:"launcher"` // launch.by; null without a launch block
	Told     bool       `json:"told"`     // whether the launcher got a notice
	// LauncherRunning says whether a run holds launch.by, Launchable whether
	// the role is one of launch.instances; null without a launch block.
	LauncherRunning *bool `json:"launcherRunning"`
	Launchable      *bool `json:"launchable"`
}

// notice tells the business's launcher of a message that nobody holds the
// recipient of, in the transaction of the message, and returns what the sender
// is told; nil when it waits for nobody (BUS-NOTICE-01 to 16, 37 to 41). Only
// message.send calls it, so nothing else ever sends a notice.
func (c *Call) notice(m evidence.Message) (*waiting, error) {
	if m.RoutedTo != nil || m.ToRole == wire.HumanRole || m.ToRole == wire.TesterRole {
		return nil, nil
	}
	w := &waiting{Role: m.ToRole}
	launch := c.Session.Business.Launch
	if launch == nil {
		return w, nil
	}
	launchable := m.ToRole != launch.By && slices.Contains(launch.Instances, m.ToRole)
	w.Launcher, w.Launchable = &launch.By, &launchable
	holder, err := c.Rows.Holder(m.Business, launch.By)
	if err != nil {
		return nil, err
	}
	running := holder != nil
	w.LauncherRunning = &running
	// The launcher knows what it sends, and cannot launch itself.
	if m.ToRole == launch.By || m.FromRole == launch.By {
		return w, nil
	}
	w.Told = true
	_, err = c.Tx.AppendMessage(evidence.Message{
		Business:  m.Business,
		FromRole:  wire.BusRole,
		FromRun:   wire.BusRun,
		ToRole:    launch.By,
		Class:     classResult, // which a runner takes without answering it
		Body:      noticeText(m, launchable),
		InReplyTo: &m.ID,
	})
	return w, err
}

// noticeText is the body of a launch notice, byte for byte (BUS-NOTICE-22, 23).
func noticeText(m evidence.Message, launchable bool) string {
	text := "Message %[1]s from %[2]s to %[3]s waits: %[3]s has no running session and isn't in the launch block's instances, " +
		"so a launch of %[3]s is refused. Tell %[2]s why not with message.send in_reply_to %[1]s."
	if launchable {
		text = "Message %[1]s from %[2]s to %[3]s waits: %[3]s has no running session. " +
			"Launch %[3]s within the launch block's limits, or tell %[2]s why not with message.send in_reply_to %[1]s."
	}
	return fmt.Sprintf(text, m.ID, m.FromRole, m.ToRole)
}
