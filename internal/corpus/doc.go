// Package corpus owns the hostile strings, JSON documents, paths and times
// that the tests of every surface load: whatever shows, stores, parses or
// compares text from outside is tested with all of them.
//
// Adding a case is adding a line to a data file; every test that loads the
// file then runs it. A line is a verdict where the file has one, a name, and a
// text: Go string literals, quoted or raw, each optionally repeated with *N.
//
//	deep  arrays-65  "["*65 "]"*65
//
// Names are unique in their file, and so are texts. Lines that begin with #
// are comments. Only tests import this package.
package corpus
