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
		sourceDigest: "87bfe36e3edadc6ad16d8c5f8516f3d7e46a980728f46b6f311558c1107d2183",
		masterDigest: "b3abf1824c6b22c45c1923220904751fbb77521b788c98e6e4221774fbb3c783",
	},
	{
		number:       CurrentVersion,
		source:       currentSource,
		sourceDigest: "50f71d30f53608bbbe9a5fcd1d7a802f16a701b89e57d219083e10267a249782",
		masterDigest: "c0991a01c17c5646936a905a6bcc864c64c371959f185f567c6db3eeba66d04e",
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
