// Package org owns the organization file and the role definitions: who the
// people are, which businesses and role instances there are, what each may do,
// and the vocabulary of actions.
//
// # What it promises
//
//   - Load gives an organization in which every rule of this package holds, or
//     every fault with file, line, key and remedy. Nothing is guessed, repaired
//     or filled in from a misspelt key.
//   - An instance has at most the authority of its definition: a business can
//     narrow it, never widen it, and no file can grant a hard wait.
//   - Writer keeps the person's comments and order, writes only what it could
//     read back as exactly the change that was asked for, only on top of the
//     revision that the caller has seen, and leaves a receipt.
//   - Init never overwrites.
//
// # What it refuses
//
// It reads YAML in its plainest form: one document, no anchors, aliases, tags
// or merge keys. It never reads a credential, only where one is.
//
// # On failure
//
// A write that fails before the rename changed nothing (organization-write-failed).
// One that may have happened without its receipt says outcome-unknown; the next
// Write, or Settle, finds out which and appends the receipt.
//
// Reading order: organization.go and definition.go (what there is), load.go,
// tree.go (the YAML), decode.go and its siblings (one a file), validate.go (the
// rules across values), resolve.go, then edit.go, document.go and write.go.
package org
