package evidence

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"mosaicstack.dev/mosaic/internal/wire"
)

// A checkpoint is a signed note (C2SP checkpoint format) over the head of the
// chain:
//
//	mosaic/<store id>
//	<number of rows in the chain>
//	<head, base64>
//
// Whoever keeps one can tell later whether the history before it is still the
// same: Verify finds its head after that many rows, or the history was
// rewritten. The key signs for the store; who holds it can sign a rewritten
// history too, so what counts is the older note that somebody else kept.

// The files of the checkpoint key, beside the store.
const (
	checkpointKeyFile    = "checkpoint.key" // 0600: the private key
	checkpointVerifyFile = "checkpoint.pub" // 0600: what verifies its notes
)

func origin(storeID string) string { return "mosaic/" + storeID }

// CreateCheckpointKey makes the key pair that signs the checkpoints of the
// store at path, in two files beside it. It refuses store-exists when there is
// a private key already. Keys that checkpoint.pub names already stay in it, so
// that their notes verify when only the private key was lost.
func CreateCheckpointKey(ctx context.Context, path string) (err error) {
	defer nameDisk(path, &err)
	found, err := storeIDOf(ctx, path)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if _, err := os.Lstat(filepath.Join(dir, checkpointKeyFile)); !errors.Is(err, fs.ErrNotExist) {
		return refuse(wire.StoreExists, err)
	}
	earlier, err := readKey(filepath.Join(dir, checkpointVerifyFile))
	if err != nil && !errors.Is(err, wire.Refuse(wire.CheckpointKeyMissing)) {
		return err
	}
	if earlier != "" {
		earlier += "\n"
	}
	private, public, err := note.GenerateKey(rand.Reader, origin(found))
	if err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	// The private key comes last: whoever has one can be verified.
	if err := writeKey(filepath.Join(dir, checkpointVerifyFile), earlier+public, true); err != nil {
		return err
	}
	if err := writeKey(filepath.Join(dir, checkpointKeyFile), private, false); err != nil {
		return err
	}
	return syncDir(dir)
}

// checkKeys refuses key files that others can read or have put there
// (BUS-BOOT-25). That there are none is found out by who needs them.
func checkKeys(path string) error {
	for _, name := range []string{checkpointKeyFile, checkpointVerifyFile} {
		err := checkFile(filepath.Join(filepath.Dir(path), name), 0o600)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func storeIDOf(ctx context.Context, path string) (string, error) {
	if err := checkFiles(path); err != nil {
		return "", err
	}
	c, err := inspect(ctx, path)
	if err != nil {
		return "", err
	}
	defer c.close()
	meta, err := c.meta()
	if err != nil {
		return "", damage(err)
	}
	return meta[metaStoreID], nil
}

// writeKey writes a key file whole or not at all.
func writeKey(path, key string, replace bool) error {
	name, remove, err := scratch(path)
	if err != nil {
		return err
	}
	defer remove()
	if err := os.WriteFile(name, []byte(key+"\n"), 0o600); err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	if replace {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return refuse(wire.StorageUnavailable, err)
		}
	}
	return publish(name, path)
}

// readKey reads a key file of this user that no other can read.
func readKey(path string) (string, error) {
	switch err := checkFile(path, 0o600); {
	case errors.Is(err, fs.ErrNotExist):
		return "", refuse(wire.CheckpointKeyMissing, err)
	case err != nil:
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", refuse(wire.StorageUnavailable, err)
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}

// Checkpoint appends a checkpoint of the history as it is now and returns its
// signed note. It refuses checkpoint-key-missing when the store has no key.
func (s *Store) Checkpoint(ctx context.Context) (string, error) {
	key, err := readKey(filepath.Join(filepath.Dir(s.path), checkpointKeyFile))
	if err != nil {
		return "", err
	}
	signer, err := note.NewSigner(key)
	if err != nil {
		return "", refuse(wire.StoreDamaged, err)
	}
	var signed string
	err = s.Update(ctx, func(tx *Tx) (err error) {
		signed, err = tx.appendCheckpoint(s.found.storeID, signer)
		return err
	}, nil)
	return signed, err
}

func (t *Tx) appendCheckpoint(storeID string, signer note.Signer) (string, error) {
	at := checkpoint{origin: origin(storeID), size: t.state.size(), head: t.state.head}
	signed, err := note.Sign(&note.Note{Text: at.text()}, signer)
	if err != nil {
		return "", refuse(wire.StorageUnavailable, err)
	}
	w, _, ms := t.begin(tCheckpoints)
	w.integer(at.size)
	w.unchained(at.head[:])
	w.text(string(signed))
	w.text(string(formatTime(ms)))
	return string(signed), t.end(tCheckpoints, ms)
}

// checkpoint is the text of a note.
type checkpoint struct {
	origin string
	size   int64
	head   head
}

func (c checkpoint) text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.origin, c.size, base64.StdEncoding.EncodeToString(c.head[:]))
}

// parseCheckpoint reads the text of a note, signed or not. It accepts exactly
// what text makes.
func parseCheckpoint(signed string) (checkpoint, error) {
	var c checkpoint
	text, _, _ := strings.Cut(signed, "\n\n")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != 3 {
		return c, errors.New("not a checkpoint")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return c, err
	}
	root, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(root) != len(c.head) {
		return c, errors.New("not a head")
	}
	c = checkpoint{origin: lines[0], size: size, head: head(root)}
	if c.text() != strings.TrimSuffix(text, "\n")+"\n" || size < 0 {
		return c, errors.New("not in canonical form")
	}
	return c, nil
}

// Signature says what is known about who signed a note.
type Signature string

const (
	SignatureValid   Signature = "valid"   // by a key beside the store
	SignatureInvalid Signature = "invalid" // changed, or never signed
	SignatureUnknown Signature = "unknown" // by a key that is not beside the store
)

// publicKeys reads what verifies notes of the store at path, or "". Beside a
// backup it may be readable by others, but not theirs to change.
func publicKeys(path string) string {
	path = filepath.Join(filepath.Dir(path), checkpointVerifyFile)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

// checkSignature compares a note with the keys beside the store.
func checkSignature(path, signed string) Signature {
	var known []note.Verifier
	for key := range strings.Lines(publicKeys(path)) {
		if v, err := note.NewVerifier(strings.TrimSuffix(key, "\n")); err == nil {
			known = append(known, v)
		}
	}
	_, err := note.Open([]byte(signed), note.VerifierList(known...))
	var unknown *note.UnverifiedNoteError
	switch {
	case err == nil:
		return SignatureValid
	case errors.As(err, &unknown):
		return SignatureUnknown
	}
	return SignatureInvalid
}
