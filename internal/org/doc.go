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
//   - Edit keeps the person's comments and order, writes only what it could
//     read back as exactly the change that was asked for, only on top of the
//     revision that the writer has seen, and leaves a receipt.
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
// One whose receipt could not be appended has happened (outcome-unknown);
// CheckReceipts tells.
//
// Reading order: organization.go and definition.go (what there is), load.go,
// decode.go (one file a shape), validate.go (the rules across shapes),
// resolve.go, then edit.go and write.go.
package org
