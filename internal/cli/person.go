package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/client"
	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

// requirePerson refuses early, and with the reason, where a proof could only
// fail: below an agent's run.
func (a *app) requirePerson() error {
	if why := broker.AgentAbove(proc.System(), os.Getpid()); why != "" {
		return explained(wire.Refuse(wire.HumanRequired), "%s", why)
	}
	return nil
}

// unproven adds to a refused proof what can be seen from here: an agent above
// this process, or a host that runs another program.
func (a *app) unproven(err error) error {
	if a.env.managed() || !errors.Is(err, wire.Refuse(wire.HumanRequired)) {
		return err
	}
	if why := a.requirePerson(); why != nil {
		return why
	}
	if root, rootErr := a.root(); rootErr == nil && otherProgram(root) {
		return explained(wire.Refuse(wire.HumanRequired), "the host runs another mosaic program than this one; start it again after an update")
	}
	return err
}

// shimRequest is what the human shim reads.
type shimRequest struct {
	Business wire.Business `json:"business"`
	Verb     string        `json:"verb"`
	Args     raw           `json:"args,omitempty"`
}

// humanShimCommand is the transport of the person's requests for other
// programs (BUS-HUMAN-01 to 04). It is hidden because people have commands.
func (a *app) humanShimCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:    "human-shim SOCKET",
		Hidden: true,
		Short:  "Send one request of the person to a socket",
		Long: `Reads {"business":…,"verb":…,"args":{…}} from stdin, sends it over the socket
with the proof of this process, and prints the result as JSON. A refusal is a
JSON object on stderr.`,
		Example: `echo '{"business":"acme","verb":"inbox"}' | mosaic human-shim ~/.local/share/mosaic/bus/human.sock`,
		Args:    arguments("SOCKET"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.out.json = true
		proof, err := a.prove()
		if err != nil {
			return err
		}
		text, err := a.input(cmd.Context(), wire.MaxRequest+1)
		if err != nil {
			return err
		}
		if len(text) > wire.MaxRequest {
			return wire.Refuse(wire.RequestTooLarge)
		}
		var request shimRequest
		if err := wire.Decode(text, &request); err != nil {
			return err
		}
		human := client.New(args[0], client.Human(proof.PID, proof.Nonce, string(request.Business)))
		var arguments any
		if request.Args != nil {
			arguments = request.Args
		}
		var reply raw
		if err := human.Call(cmd.Context(), request.Verb, arguments, &reply); err != nil {
			return err
		}
		return a.out.answer(reply, func(w *screen) { w.json(reply) })
	}
	return cmd
}
