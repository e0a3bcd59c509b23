// Package wire owns what crosses a process boundary: the vocabulary of
// identifiers, the strict JSON decoder, the framing and limits of the sockets,
// peer credentials, replies, and the one table of error codes.
//
// It promises that nothing reaches a handler that was not one complete,
// strictly valid JSON object within its limit from a peer of the same user,
// and that nothing leaves in a reply but plain JSON or a static code. It knows
// no verbs, no roles and no storage.
package wire
