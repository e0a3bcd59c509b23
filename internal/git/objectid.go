package git

// ObjectID is a full object id in lower case: 40 hex digits in a SHA-1
// repository, 64 in a SHA-256 one.
type ObjectID string

// ParseObjectID accepts full ids of either hash and nothing else: no
// abbreviation and no revision expression.
func ParseObjectID(s string) (ObjectID, bool) {
	if len(s) != 40 && len(s) != 64 {
		return "", false
	}
	for i := range len(s) {
		if c := s[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return "", false
		}
	}
	return ObjectID(s), true
}
