# The front door. CMake does the work; see `make help`.
BUILD ?= build
JOBS ?= $(shell nproc)
CMAKE_FLAGS ?=
SOURCES = '*.c' '*.h' '*.inc'
MAKEFLAGS += --no-print-directory
CONFIGURE = cmake -S . -B $(BUILD) $(CMAKE_FLAGS) >/dev/null

.PHONY: all help deps demo test bench asan format format-check install clean

all: deps
	@$(CONFIGURE)
	@cmake --build $(BUILD) -j$(JOBS) --target product

help:
	@echo "make          build $(BUILD)/artreeformer and the library"
	@echo "make demo     install what is missing, build, run the main job on an example"
	@echo "make test     install what is missing, build, run all tests"
	@echo "make bench    timings beside the machine's own sgemm rate"
	@echo "make asan     all tests under the address and undefined-behaviour sanitizers"
	@echo "make format   format the sources (make format-check only looks)"
	@echo "make install  program, library, header, pkg-config file, man page, completion (PREFIX=/usr/local)"

deps:
	@scripts/deps build

demo: all
	@scripts/demo $(BUILD)/artreeformer

test:
	@scripts/deps test
	@$(CONFIGURE)
	@cmake --build $(BUILD) -j$(JOBS)
	@tests/run $(BUILD)/tests

bench: all
	@$(BUILD)/artreeformer bench

asan:
	@$(MAKE) test BUILD=build-asan CMAKE_FLAGS=-DART_SANITIZE=ON

format:
	@clang-format -i $$(git ls-files $(SOURCES))

format-check:
	@clang-format --dry-run -Werror $$(git ls-files $(SOURCES))

install: all
	@cmake --install $(BUILD) $(if $(PREFIX),--prefix $(PREFIX))

clean:
	@rm -rf build build-*
