// Package client calls the verbs of a Mosaic broker over its Unix socket. It
// is what the command line, the console and other programs use; it opens no
// database and knows nothing but the protocol (BUS-PROTO-11, 12).
//
//	c := client.New(path, client.Capability(os.Getenv("MOSAIC_BUS_CAP")))
//	var sent struct{ ID string `json:"id"` }
//	err := c.Call(ctx, "message.send", map[string]string{"to": "dev", "body": "ready"}, &sent)
//
// Each call is one connection and one request of one JSON line, at most 64 KiB
// (1 MiB more for project.file.save), and ends within five seconds. KeepOpen
// sends the calls of a client over one connection instead, as many at a time
// as there are callers.
//
// # When a call fails
//
// Every error holds an [*Error] with a static code; [CodeOf] returns it. Ask
// what must happen next:
//
//   - unavailable: no broker could be reached. Nothing was sent, so nothing
//     happened.
//   - outcome-unknown: the request, or its first bytes, was sent and no answer
//     came: the connection ended, five seconds passed, the context ended, or
//     what came back was no reply. The mutation may have been committed and
//     may not have been. Read the evidence before deciding anything: trail of
//     the subject shows a message with its deliveries, or a decision with its
//     close. A caller that resends without looking may do everything twice.
//   - response-too-large: the reply is larger than 4 MiB. The request was
//     carried out, and its result does not fit; ask for less.
//   - any other code is the broker's answer: it refused, and nothing of the
//     request was carried out.
//
// The client itself never sends a request twice.
package client
