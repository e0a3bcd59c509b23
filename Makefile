# make demo and make test work from a fresh clone.

.PHONY: demo test test-long lint fuzz bench build reference setup clean

demo: setup build ## a throw-away team does a small real job; you approve the merge
	bin/mosaic demo $(ARGS)

test: setup ## everything that must hold before a change lands, in under 20 minutes
	go run ./internal/tools/check

test-long: setup ## the same with more kills, more rounds and ten times the fuzzing
	go run ./internal/tools/check -long

lint: ## the quick part: format, modules, vet, staticcheck
	go run ./internal/tools/check -only format,modules,vet,staticcheck

fuzz: ## a minute for every fuzz target
	go run ./internal/tools/check -only fuzz -fuzztime 1m

bench: ## the speed targets of the design, as ratios within one run
	go run ./internal/tools/bench

build: ## bin/mosaic with the version that git gives it; the same bytes for the same commit
	CGO_ENABLED=0 go build -trimpath -buildvcs=auto -o bin/mosaic ./cmd/mosaic

reference: ## docs/reference from the registries
	go run ./internal/tools/reference

setup: ## installs bubblewrap where it is missing and may be installed
	@sh tools/setup.sh

clean:
	rm -rf bin
