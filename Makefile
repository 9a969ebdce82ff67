# SPDX-License-Identifier: Apache-2.0
# `make help` lists the targets. A build variant has its own folder: make B=build/san SAN=1. Of each command only its kind
# and its file are shown; V=1 shows it whole.

B      ?= build
ifeq ($(origin CC),default)
CC     := gcc
endif
PREFIX ?= /usr/local
PYTHON ?= python3
VERSION := 0.1.0

PKGS := yaml-0.1 libjpeg libpng zlib jansson libxxhash libarchive libzip libprotobuf-c cairo
# FFmpeg decodes what the own sound reader does not. It is never linked: only its headers are needed here.
FFMPEG := $(shell pkg-config --exists libavformat libavcodec libavutil && echo yes)
OPT  ?= -O2 -g
WARN := -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-unused-parameter -Wno-missing-field-initializers
ifdef WERROR
WARN += -Werror
endif
CFLAGS ?=
ALL_CFLAGS = -std=c11 $(OPT) $(WARN) -fopenmp -pthread -D_GNU_SOURCE -DTT_VERSION='"$(VERSION)"' -I. -I$(B)/gen -MMD -MP \
             $(shell pkg-config --cflags $(PKGS)) $(SAN_FLAGS) $(CFLAGS)
ALL_LDLIBS = $(shell pkg-config --libs $(PKGS)) -ldnnl -lm -ldl -fopenmp -pthread $(SAN_FLAGS) $(LDLIBS)
ifeq ($(SAN),1)
SAN_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
endif
ifeq ($(SAN),thread)
SAN_FLAGS := -fsanitize=thread
endif
ifeq ($(SAN),fuzz)
SAN_FLAGS := -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined -fno-omit-frame-pointer \
             -Wno-pass-failed
ISAS := c
endif

ifeq ($(FFMPEG),yes)
ALL_CFLAGS += -DTT_FFMPEG $(shell pkg-config --cflags libavformat libavcodec libavutil)
endif

ifneq ($(V),1)
Q := @
ifeq ($(findstring s,$(firstword -$(MAKEFLAGS))),) # make -s
say = @printf '  %-6s %s\n' '$(1)' '$(2)'
endif
endif

# Instruction sets of the vector kernels; arm64 and others run the plain C level.
ARCH := $(shell $(CC) -dumpmachine | cut -d- -f1)
ifeq ($(ARCH)$(ISAS),x86_64)
ISAS := c avx2 avx512
ALL_CFLAGS += -DTT_X86
endif
ISAS ?= c
# Nothing reads errno after a square root; without this GCC cannot vectorise one. No value changes.
ISA_FLAGS_common := -O3 -fno-math-errno
ISA_FLAGS_c      := $(ISA_FLAGS_common)
ISA_FLAGS_avx2   := $(ISA_FLAGS_common) -mavx2 -mfma -mf16c
ISA_FLAGS_avx512 := $(ISA_FLAGS_common) -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512

SRC_DIRS := tensor kernels/ops kernels/ref kernels/cpu data vision audio models pipeline
SRCS     := $(wildcard $(addsuffix /*.c,$(SRC_DIRS)))
ISA_SRCS := $(filter-out kernels/cpu/dnnl% kernels/cpu/dispatch.c,$(wildcard kernels/cpu/*.c)) vision/rows.c audio/loops.c $(wildcard tensor/fft_lanes.c)
ONE_SRCS := $(filter-out $(ISA_SRCS),$(SRCS))
PROTOS   := $(wildcard pipeline/*.proto)
GEN      := $(patsubst %.proto,$(B)/gen/%.pb-c.c,$(PROTOS))
LIB_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(ONE_SRCS)) $(foreach i,$(ISAS),$(patsubst %.c,$(B)/obj/%.$(i).o,$(ISA_SRCS))) \
            $(GEN:.c=.o)
BIN_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(wildcard bin/*.c))
LIB      := $(B)/libttrain.a

# tests/test_*.c are programs of their own; tests/ops/*.c are linked into test_ops; tests/support/*.c into all.
TESTS        := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/test_*.c))
SUPPORT_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/support/*.c))
OPTEST_OBJS  := $(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/ops/*.c))

all: $(B)/ttrain  ## build build/ttrain

$(B)/ttrain: $(BIN_OBJS) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(ALL_LDLIBS)
	@echo "FFmpeg (FLAC, Ogg, MP3, MP4): $(if $(FFMPEG),headers found; loaded when a file needs it,left out: libavformat-dev and libavcodec-dev are not installed)"

# `ar` keeps members of sources that are gone; start anew. Objects are listed through a file: there are many.
$(LIB): $(LIB_OBJS)
	$(call say,AR,$@)
	@rm -f $@
	$(file >$@.list,$^)
	$(Q)ar rcs $@ @$@.list

$(B)/obj/%.o: %.c | $(GEN:.c=.h)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Loops over pixels that are not worth a build for each instruction set.
$(patsubst %,$(B)/obj/vision/%.o,colour tone warp mixup flip): OPT += -O3

define isa_rule
$(B)/obj/%.$(1).o: %.c
	@mkdir -p $$(@D)
	$$(call say,CC,$$< ($(1)))
	$$(Q)$(CC) $(ALL_CFLAGS) $(ISA_FLAGS_$(1)) -DTT_ISA=$(1) -c -o $$@ $$<
endef
$(foreach i,$(ISAS),$(eval $(call isa_rule,$(i))))

# A square root that sets no errno can be vectorised; its value is the same.
$(B)/obj/pipeline/optim_%.o: ALL_CFLAGS += -O3 -fno-math-errno

$(B)/gen/%.pb-c.c $(B)/gen/%.pb-c.h: %.proto
	@mkdir -p $(@D)
	$(call say,PROTOC,$<)
	$(Q)protoc-c --c_out=$(B)/gen $<
$(B)/gen/%.pb-c.o: $(B)/gen/%.pb-c.c
	$(call say,CC,$<)
	$(Q)$(CC) -std=c11 -O2 -I$(B)/gen $(SAN_FLAGS) -c -o $@ $<

# The commit that is built, for env.json; written only when it is another one.
$(B)/gen/pipeline/commit.h: FORCE
	@mkdir -p $(@D)
	@echo "#define TT_COMMIT \"$$(git describe --always --dirty --abbrev=12 2>/dev/null)\"" >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(B)/obj/pipeline/runinfo.o: $(B)/gen/pipeline/commit.h
FORCE:

$(B)/tests/test_ops: $(OPTEST_OBJS)
$(B)/tests/%: $(B)/obj/tests/%.o $(SUPPORT_OBJS) $(LIB)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB) -lcmocka $(ALL_LDLIBS)

# Helpers of the shell tests.
TOOLS := $(patsubst tests/tools/%.c,$(B)/tests/%,$(wildcard tests/tools/*.c))
$(TOOLS): $(B)/tests/%: $(B)/obj/tests/tools/%.o $(LIB)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $< $(LIB) $(ALL_LDLIBS)

# bench/NAME.c: programs that measure one thing.
$(B)/bench/%: $(B)/obj/bench/%.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(ALL_LDLIBS)

# tests/fuzz/fuzz_NAME.c: with libFuzzer as fuzz/NAME (`make fuzz`), or only its corpus as tests/replay_NAME.
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZERS    := $(FUZZ_NAMES:%=$(B)/fuzz/%)
REPLAYS    := $(FUZZ_NAMES:%=$(B)/tests/replay_%)
$(REPLAYS): $(B)/tests/replay_%: $(B)/obj/tests/fuzz/fuzz_%.o $(B)/obj/tests/fuzz/replay.o $(LIB)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(ALL_LDLIBS)
$(FUZZERS): $(B)/fuzz/%: $(B)/obj/tests/fuzz/fuzz_%.o $(LIB)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(ALL_LDLIBS)

tests: $(TESTS) $(TOOLS)
replays: $(REPLAYS)
fuzzers: $(FUZZERS)

.PHONY: all tests replays fuzzers FORCE
.SECONDARY:
-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)

# ------------------------------------------------------------------ set-up, demo, tests

deps:  ## install what the build needs (Debian, Ubuntu)
	@scripts/deps.sh build
deps-test:
	@scripts/deps.sh test

demo: deps  ## fetch Fashion-MNIST and train a small ResNet on it (about 3 minutes on 2 cores)
	@$(MAKE) --no-print-directory all
	@scripts/fetch_fashion_mnist.sh
	@$(B)/ttrain configs/fashion-mnist-resnet.yaml

# SKIP=names leaves out programs: make test SKIP="kill_resume.sh test_ops".
SKIP ?=
test: deps-test  ## build and run all tests
	@$(MAKE) --no-print-directory all tests replays
	@scripts/run_tests.sh $(B) $(filter-out $(addprefix %/,$(SKIP)),$(TESTS) $(REPLAYS) $(wildcard tests/*.sh))

# One kill instead of twenty: the sanitizers are after memory; the moments of the kills are the plain test's business.
san: deps-test  ## the tests under AddressSanitizer, UndefinedBehaviorSanitizer and LeakSanitizer
	@KILLS=$${KILLS:-1} $(MAKE) --no-print-directory B=build/san SAN=1 test

# Only what has threads of its own: the sanitizer does not know OpenMP's.
TSAN_TESTS := test_loader test_loader_errors test_audio_draws
tsan: deps-test  ## the loader's tests under ThreadSanitizer
	@$(MAKE) --no-print-directory B=build/tsan SAN=thread $(TSAN_TESTS:%=build/tsan/tests/%)
	@scripts/run_tests.sh build/tsan $(TSAN_TESTS:%=build/tsan/tests/%)

valgrind: deps-test  ## train, resume, evaluate and predict under memcheck
	@$(MAKE) --no-print-directory all tests
	@scripts/valgrind.sh $(B)

FUZZ_SECONDS ?= 60
FUZZ_FLAGS := -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0
fuzz: deps-test  ## fuzz every reader for FUZZ_SECONDS (default 60) with clang's libFuzzer
	@$(MAKE) --no-print-directory B=build/fuzz CC=clang SAN=fuzz fuzzers
	@failed=0; for n in $(FUZZ_NAMES); do echo "== $$n"; mkdir -p build/fuzz/corpus/$$n build/fuzz/found; \
	build/fuzz/fuzz/$$n $(FUZZ_FLAGS) -artifact_prefix=build/fuzz/found/$$n- build/fuzz/corpus/$$n tests/fuzz/corpus/$$n \
	    || { failed=1; echo "FAILED: $$n; the input is in build/fuzz/found/"; }; done; exit $$failed

lint: deps-test  ## formatting, static analysis, rules of the tree
	@scripts/check_tree.sh
	clang-format --dry-run --Werror $$(git ls-files '*.c' '*.h')
	cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr -j 2 --enable=warning,portability \
	    --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches -I. -DTT_X86 \
	    $(filter-out tests/%,$(SRC_DIRS)) bin

parity: all tests  ## compare with PyTorch: PYTHON=python3 needs torch, torchvision, torchaudio, safetensors, tensorboard
	$(PYTHON) scripts/parity.py --ttrain $(B)/ttrain
	$(PYTHON) scripts/parity_sound.py --build $(B)

bench: all  ## speed of the demo's training step and loader
	$(B)/ttrain bench step configs/fashion-mnist-resnet.yaml --steps 50 --json
	$(B)/ttrain bench data configs/fashion-mnist-resnet.yaml --json

install: all  ## install under PREFIX (default /usr/local)
	install -D -m 755 $(B)/ttrain $(DESTDIR)$(PREFIX)/bin/ttrain
	install -D -m 644 docs/ttrain.1 $(DESTDIR)$(PREFIX)/share/man/man1/ttrain.1
	install -D -m 644 scripts/ttrain.bash-completion $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ttrain
	install -d $(DESTDIR)$(PREFIX)/share/ttrain/configs
	install -m 644 configs/*.yaml $(DESTDIR)$(PREFIX)/share/ttrain/configs/

format:  ## put all sources into the tree's format
	clang-format -i $$(git ls-files '*.c' '*.h')

clean:  ## remove build/
	rm -rf build

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

.PHONY: deps deps-test demo test san tsan valgrind fuzz lint parity bench install format clean help
