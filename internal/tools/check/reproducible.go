package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// checkReproducible builds the program here and from a copy of the tree in
// another directory, and expects the same bytes.
func checkReproducible(ctx context.Context, r *runner) {
	if err := r.buildTwice(ctx); err != nil {
		r.fail("build", err.Error()+"\n")
		return
	}
	r.pass("build")
}

func (r *runner) buildTwice(ctx context.Context) error {
	scratch, err := os.MkdirTemp("", "mosaic-check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	copied := filepath.Join(scratch, "tree")
	if err := r.copyTree(ctx, copied); err != nil {
		return err
	}
	var sums [2][]byte
	for i, dir := range []string{r.dir, copied} {
		binary := filepath.Join(scratch, fmt.Sprint("mosaic", i))
		cmd := r.command(ctx, "go", "build", "-buildvcs=false", "-o", binary, "./cmd/mosaic")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s%w", out, err)
		}
		if sums[i], err = sum(binary); err != nil {
			return err
		}
	}
	if !bytes.Equal(sums[0], sums[1]) {
		return fmt.Errorf("the same sources in two directories give two programs: %x, %x", sums[0], sums[1])
	}
	return nil
}

// copyTree copies what git tracks or would track, as it is in the work tree.
func (r *runner) copyTree(ctx context.Context, to string) error {
	list, err := r.command(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range bytes.SplitSeq(list, []byte{0}) {
		if len(name) == 0 {
			continue
		}
		err := copyFile(filepath.Join(r.dir, string(name)), filepath.Join(to, string(name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // deleted and not yet committed
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

func sum(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}
