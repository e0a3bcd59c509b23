package evidence

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"strconv"
)

// CurrentVersion is the version of the schema that this program writes. It
// opens no other; Migrate brings an earlier store to it.
const CurrentVersion = 2

//go:embed schema.sql
var currentSource string

//go:embed migrations/0001.sql
var source1 string

//go:embed migrations/0002.sql
var step2 string

// version pins what a store of one version consists of. The digests live in
// the program, so that nobody can change schema and digest together by
// changing the file.
type version struct {
	number       int
	source       string // the whole schema of this version
	sourceDigest string // SHA-256 of source
	masterDigest string // of sqlite_master, see masterDigest
	step         string // what makes it from the version before; "" for the first
}

// versions lists every version that Migrate knows, oldest first. Entries are
// never edited: a change of the schema appends one.
var versions = []version{
	{
		number:       1,
		source:       source1,
		sourceDigest: "d199e780aa2d36676f034a6b348d8376265552fc3f88eac8de1ef9aec362e0e1",
		masterDigest: "b525e7e7e46fbb88a3098d774ab2a8044506930f9711cd01c9d8cc4ae4cb14f6",
	},
	{
		number:       CurrentVersion,
		source:       currentSource,
		sourceDigest: "4773d90a0c12e20987b9b554800fcb6dbdfe0c501d0b39e65479728aee7ffd55",
		masterDigest: "721c56e3e0633c9e9fd4ea34bc996acedf3f5395035473376bc18b4774734b62",
		step:         step2,
	},
}

func current() *version { return &versions[len(versions)-1] }

// knownVersion returns the version of this name in metadata, or nil.
func knownVersion(name string) *version {
	for i := range versions {
		if strconv.Itoa(versions[i].number) == name {
			return &versions[i]
		}
	}
	return nil
}

// The keys of the table meta.
const (
	metaVersion = "schema_version"
	metaDigest  = "schema_digest"
	metaMaster  = "master_digest"
	metaStoreID = "store_id"
	metaCreated = "created"
)

func sourceDigest(source string) string {
	sum := sha256.Sum256([]byte(source))
	return hex.EncodeToString(sum[:])
}

// masterDigest hashes what the file says its schema is: type, name, table and
// SQL of every object, by type and name.
func masterDigest(c *conn) (string, error) {
	st, err := c.prepare("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name")
	if err != nil {
		return "", err
	}
	defer st.Close()
	var buf []byte
	for st.step() {
		for i := range 4 {
			buf = appendField(buf, st.ColumnText(i))
		}
	}
	if st.fail(st.Err()); st.err != nil {
		return "", st.err
	}
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:]), nil
}

// meta reads the metadata.
func (c *conn) meta() (map[string]string, error) {
	st, err := c.prepare("SELECT key, value FROM meta")
	if err != nil {
		return nil, err
	}
	defer st.Close()
	m := map[string]string{}
	for st.step() {
		m[st.ColumnText(0)] = st.ColumnText(1)
	}
	st.fail(st.Err())
	return m, st.err
}
