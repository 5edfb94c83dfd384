# Two commands matter: `make demo` and `make test`. Both do all the set-up that
# they need on a Debian machine with Go, git and make.

GO ?= go

# One static program, and one build cache for it and the tests.
export CGO_ENABLED = 0

.PHONY: help demo test gate-long build release bench figures lint fmt openapi retract docs pages screenshots

help:
	@echo 'make demo         a complete instance with a sample office on http://localhost:8080'
	@echo 'make test         the tests, on SQLite and PostgreSQL; installs what they need'
	@echo 'make build        the program, bin/kartei'
	@echo 'make release      packages, archives and images of a release, into dist'
	@echo 'make lint         what the gate checks of the sources: form, vet, linters, documents'
	@echo 'make fmt          the form of gofmt'
	@echo 'make pages        the Go of the templates'
	@echo 'make docs         what README and docs take from the code'
	@echo 'make openapi      the OpenAPI documents, from the table and the types'
	@echo 'make retract      a promise of the OpenAPI documents taken back'
	@echo 'make screenshots  pictures of the main pages'
	@echo 'make bench        ratios against limits of the same run'
	@echo 'make figures      what the main calls cost, into bench/figures.json'
	@echo 'make gate-long    what takes hours, before a piece of work is closed'

# Serves the sample office on http://localhost:8080 until Ctrl-C. ARGS are the
# flags of `kartei demo`, for example ARGS='--listen localhost:9000 --data demo'.
demo: build
	@exec bin/kartei demo $(ARGS)

# Runs the tests, on SQLite and on PostgreSQL. Stories with a browser and most tests of the
# whole program have SQLite alone, and walks through all pages are left out: SHORT= runs
# those too, as the gate does.
# ARGS go to `go test`. Half of the packages wait more than they compute, so twice as many
# run at the same time as there are processors. The longest come first, so that none runs
# alone at the end. The linker leaves out what a debugger needs, which takes half of its
# time, and `make lint` vets.
SHORT = -short
test:
	@ci/setup.sh postgresql pgbouncer chromium clamd nginx versitygw npm venv standardwebhooks axe
	@$(GO) test $(SHORT) -vet=off -ldflags=-w -timeout 30m -p $$(($$(getconf _NPROCESSORS_ONLN) * 2)) $(ARGS) ./test/journey ./test/e2e ./api ./...
	@if [ -n '$(SHORT)' ]; then echo 'Left out: walks through all pages; stories with a browser by keyboard, on telephones and on PostgreSQL; most tests of the whole program on PostgreSQL. make test SHORT= runs them. The walks in batches on PostgreSQL are in .ci/run alone.'; fi

# Runs what is too long for each change, before a piece of work is closed. ci/long.sh --list
# lists the steps; STEPS='fuzz kills' runs some.
gate-long:
	@ci/long.sh $(STEPS)

build:
	@[ -e bin/kartei ] || echo 'Building bin/kartei; the first time takes a few minutes.' >&2
	@$(GO) build -o bin/kartei ./cmd/kartei

# Builds what a release consists of into dist: see packaging/README.md.
release:
	@packaging/build.sh

# Prints ratios against limits measured in the same run; see docs/performance.md.
bench:
	@$(GO) run ./bench $(ARGS)

# Writes what the main calls cost into bench/figures.json: statements, allocations and pages
# of the log. A test compares with it.
figures:
	@$(GO) test -vet=off ./bench -count=1 -run TestFigures -write

# What .ci/run checks of the sources, without the tests.
lint:
	@ci/lint.sh
	@ci/lint-openapi.sh

# Writes the OpenAPI documents anew from the table and the types, with their
# checksums. A published version may only grow: what one promises in addition
# is written down, and where one takes something back this fails and says what.
openapi: build
	@for document in api/openapi/*.json; do \
		bin/kartei openapi draft "$$(basename "$$document" .json)" >"$$document.new" && mv "$$document.new" "$$document" || { rm -f "$$document.new"; exit 1; }; \
	done
	@ci/frozen.sh --write
	@$(GO) test ./api/draft -run 'TestPublished$$' -grow

# Writes down that the documents promise what they promise now, also where that
# is less than before: see CONTRIBUTING.md before.
retract:
	@$(GO) test ./api/draft -run 'TestPublished$$' -retract

# Writes what files take from the code: the tables of settings, the tree in README,
# the SQL of each family of records (record/testdata/statements), the table of pages
# (docs/operating/web.md), and the members
# that the recorded answers have gained (api/testdata).
docs:
	@$(GO) test ./instance/config -run '(SettingsPage|PackagedFile)$$' -write
	@$(GO) test ./instance/erasure -run 'PeriodsPage$$' -write
	@$(GO) test . -run 'ReadmeTree$$' -write
	@$(GO) test ./record -run 'TestStatements$$' -write
	@$(GO) test ./web/app -run 'TestTableOfPages$$' -write
	@$(GO) test ./api -run 'TestRecordedCalls$$' -record

# Writes the Go of the templates below web (*_templ.go), which is committed.
pages:
	@$(GO) tool -modfile=ci/tools/go.mod templ generate -log-level warn -path web

# Draws the main pages in both themes and two widths into the folder screenshots, or
# into DIR, for a person who looks at them.
screenshots:
	@ci/setup.sh chromium
	@KARTEI_SCREENSHOTS=$(abspath $(or $(DIR),screenshots)) $(GO) test -count 1 ./test/journey -run 'TestScreenshots$$'
	@echo 'The pictures are in $(or $(DIR),screenshots).'

fmt:
	@gofmt -w $$(git ls-files '*.go')
