# The front door. CMake does the work; see `make help`.
BUILD ?= build
JOBS ?= $(shell nproc)
CMAKE_FLAGS ?=
SOURCES = '*.c' '*.h' '*.inc'
MAKEFLAGS += --no-print-directory
CONFIGURE = cmake -S . -B $(BUILD) $(CMAKE_FLAGS) >/dev/null

.PHONY: all help deps demo test bench asan tsan format format-check install clean

all: deps
	@$(CONFIGURE)
	@cmake --build $(BUILD) -j$(JOBS) --target product

help:
	@echo "make          build $(BUILD)/artreeformer and the library"
	@echo "make demo     install what is missing, build, run the main job on an example"
	@echo "make test     install what is missing, build, run all tests (T=\"rng pool\": only these;"
	@echo "              T=fast: all but the slow ones)"
	@echo "make bench    timings of the parts of the work (needs OpenBLAS to compare with)"
	@echo "make asan     all tests under the address and undefined-behaviour sanitizers"
	@echo "make tsan     the tests that use threads under the thread sanitizer"
	@echo "make format   format the sources (make format-check only looks)"
	@echo "make install  program, library, header, pkg-config file, man page, completion (PREFIX=/usr/local)"

deps:
	@scripts/deps build

demo: all
	@scripts/demo $(BUILD)/artreeformer

# Only what the wanted tests need is built: all of it, what is fast, or the programs named by T.
# (name:pattern runs those of a program's tests whose names match)
TEST_NAMES = $(foreach name,$(T),$(firstword $(subst :, ,$(name))))
TEST_TARGETS = $(if $(T),$(patsubst test_fast,fast_tests,$(addprefix test_,$(TEST_NAMES))),all)

test:
	@scripts/deps test
	@$(CONFIGURE)
	@cmake --build $(BUILD) -j$(JOBS) --target $(TEST_TARGETS)
	@tests/run $(BUILD)/tests $(foreach name,$(T),'$(name)')

bench:
	@scripts/deps bench
	@$(CONFIGURE)
	@cmake --build $(BUILD) -j$(JOBS) --target timing
	@$(BUILD)/bench/timing

asan:
	@$(MAKE) test BUILD=build-asan CMAKE_FLAGS=-DART_SANITIZE=address,undefined

# The tests that use threads, and whole runs of the program on several (resume). Everything that
# takes a pool has a test in which it must give the same bits on any number of threads.
THREADED = pool input signals resume simulate:threads* optim:*threads* branch:*threads* blend:threads* \
	likelihood:threads* parsimony:threads* parsimony_search:threads* artreeformer:threads* artree:threads* search:threads* rounds:threads* \
	topology_evidence:teams tree_optimum:threads* evaluate:many_trees chain_answer:threads* chain:*threads* joint_stage:goes_on*

tsan:
	@$(MAKE) test BUILD=build-tsan CMAKE_FLAGS=-DART_SANITIZE=thread T="$(or $(T),$(THREADED))"

format:
	@clang-format -i $$(git ls-files $(SOURCES))

format-check:
	@clang-format --dry-run -Werror $$(git ls-files $(SOURCES))

install: all
	@cmake --install $(BUILD) $(if $(PREFIX),--prefix $(PREFIX))

clean:
	@rm -rf build build-*
