// Package wire owns what crosses a process boundary: the vocabulary of
// identifiers, the strict JSON decoder, the framing and limits of the sockets,
// peer credentials, replies, and the one table of error codes.
//
// It promises that nothing reaches a handler that was not one complete,
// strictly valid JSON object within its limit from a peer of the same user,
// and that nothing leaves in a reply but plain JSON or a static code. It knows
// no verbs, no roles and no storage.
//
// On failure: a document is refused as a whole and named by the argument at
// fault; a connection that breaks a limit is answered where that is possible,
// and closed, and no other connection notices; what a handler did not declare
// is logged and answered with outcome-unknown.
//
// Reading order: vocabulary.go, request.go and errors.go (what is said);
// decode.go, scan.go, encode.go and codec.go (how it is written); parse.go (one
// line); server.go and conn.go (one socket, one connection); listen.go,
// socketdir.go and peer.go (the files and the kernel); codes.go and
// explanations.go (what people are told).
package wire
