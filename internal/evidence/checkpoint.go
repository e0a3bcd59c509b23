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
// one already.
func CreateCheckpointKey(ctx context.Context, path string) error {
	found, err := storeIDOf(ctx, path)
	if err != nil {
		return err
	}
	private, public, err := note.GenerateKey(rand.Reader, origin(found))
	if err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	dir := filepath.Dir(path)
	if err := writeKey(filepath.Join(dir, checkpointKeyFile), private); err != nil {
		return err
	}
	if err := writeKey(filepath.Join(dir, checkpointVerifyFile), public); err != nil {
		return err
	}
	return syncDir(dir)
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

func writeKey(path, key string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return refuse(wire.StoreExists, err)
	}
	if err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	_, err = f.WriteString(key + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	return nil
}

// readKey reads a key file of this user that no other can read.
func readKey(path string) (string, error) {
	switch err := checkFile(path, 0o600); {
	case errors.Is(err, fs.ErrNotExist):
		return "", refuse(wire.StoreMissing, err)
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
// signed note. It refuses store-missing when the store has no key.
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
	SignatureValid   Signature = "valid"   // by the key beside the store
	SignatureInvalid Signature = "invalid" // not by that key
	SignatureUnknown Signature = "unknown" // there is no key beside the store
)

// checkSignature compares a note with the key beside the store.
func checkSignature(path, signed string) Signature {
	key, err := readKey(filepath.Join(filepath.Dir(path), checkpointVerifyFile))
	if err != nil {
		return SignatureUnknown
	}
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return SignatureUnknown
	}
	if _, err := note.Open([]byte(signed), note.VerifierList(verifier)); err != nil {
		return SignatureInvalid
	}
	return SignatureValid
}
