module mosaicstack.dev/mosaic

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/google/uuid v1.6.0
	golang.org/x/sys v0.50.0
)
