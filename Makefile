# Builds, tests and checks moesim. GNU make; gcc or clang.
#
#   make             ./moesim and ./moesim-run
#   make demo        installs what is missing, builds, ranks plans for an NVL72
#   make demo-calibrate  builds, measures emulated clusters, fits, and prints what was predicted beside what was measured
#   make test        installs what is missing, builds with sanitizers, runs every test (SHARED=DIR: more figures)
#   make check       the quick habits: format, layers, sizes, headers, symbols, libraries, calls, manual, text
#   make fuzz        libFuzzer on each target for FUZZ_SECONDS
#   make bench       the measurements that README prints
#   make clang tsan  the tests built by clang, or with the thread sanitizer
#   make coverage    lines of model and sim that the tests reach, by gcovr: at least COVERED percent
#   make install     below PREFIX (and DESTDIR)
#   make clean
#
# Each variant of the build (release, asan, clang, tsan, fuzz, coverage) has its own folder $(OUT)/VARIANT,
# which mirrors the tree. The rules below build one variant; the goals call make again with VARIANT set.

MAKEFLAGS += --no-print-directory --no-builtin-rules
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:

OUT          ?= build
VARIANT      := release
BUILD        := $(OUT)/$(VARIANT)
PREFIX       ?= /usr/local
SHARED       ?= ../shared
FUZZ_SECONDS ?= 60
COVERED      ?= 90

# ---- Flags. CC, CFLAGS, CPPFLAGS and LDFLAGS belong to the user: `make CFLAGS=-O3` replaces the optimisation level
# and nothing that the code needs.

ifeq ($(origin CC),default)
CC := gcc
endif

OPTIMISE_asan := -O1
OPTIMISE_tsan := -O1
OPTIMISE_fuzz := -O1
OPTIMISE_coverage := -O0
CFLAGS ?= $(or $(OPTIMISE_$(VARIANT)),-O2)

LANGUAGE := -std=c11 -D_POSIX_C_SOURCE=200809L -I. -g -fno-omit-frame-pointer
# a*b+c must not become one rounding on one compiler and two on another
NUMERICS := -ffp-contract=off

WARNINGS := -Werror -Wall -Wextra -Wpedantic
# conversions that lose bits
WARNINGS += -Wconversion -Wsign-conversion -Wfloat-conversion -Wdouble-promotion
# declarations that hide or miss something
WARNINGS += -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wundef -Wvla
# pointers, strings, control flow
WARNINGS += -Wwrite-strings -Wcast-qual -Wpointer-arith -Wformat=2 -Wnull-dereference -Wimplicit-fallthrough
ifeq ($(findstring clang,$(shell command -v $(CC) >/dev/null && $(CC) --version)),)
WARNINGS += -Wlogical-op -Wduplicated-cond -Wduplicated-branches
endif

# fortify needs an optimising build, and stands in the way of the address sanitizer
OPTIMISED := $(filter -O1 -O2 -O3 -Os,$(CFLAGS))
HARDEN    := $(if $(OPTIMISED),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2) -fstack-protector-strong
SANITIZE  := address,undefined,float-cast-overflow
FLAGS_release  := $(HARDEN)
FLAGS_clang    := $(HARDEN)
FLAGS_asan     := -fsanitize=$(SANITIZE) -fno-sanitize-recover=all
FLAGS_tsan     := -fsanitize=thread
FLAGS_fuzz     := -fsanitize=fuzzer-no-link,$(SANITIZE) -fno-sanitize-recover=all
FLAGS_coverage := --coverage

COMPILE = $(CC) $(LANGUAGE) $(NUMERICS) $(WARNINGS) $(FLAGS_$(VARIANT)) $(CPPFLAGS) $(CFLAGS)
LIBS    = -lcjson -lexpat -lm
LINK    = $(CC) $(FLAGS_$(VARIANT)) $(CFLAGS) $(LDFLAGS)

# ---- What there is. Sources are found, never listed; each program is its main.c plus the archives that it may use.

sources  = $(sort $(wildcard $(foreach dir,$1,$(dir)/*.c $(dir)/*/*.c $(dir)/*/*/*.c)))
objects  = $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/main.c,$1))
binaries = $(patsubst %.c,$(BUILD)/%,$1)

MODEL := $(call sources,model)
SIM   := $(call sources,sim)
REAL_MPI := exec/mpi/mpirun_real.c exec/mpi/mpirun_fail.c
EXEC  := $(filter-out $(REAL_MPI),$(call sources,exec))
TESTS := $(filter-out tests/fuzz/% tests/bench/%,$(call sources,tests))
FUZZ  := $(filter tests/fuzz/fuzz_%,$(call sources,tests/fuzz))
BENCH := $(call sources,tests/bench)
# test_x.c is a test program; other files beside them are linked into each
TEST_PROGRAMS := $(foreach source,$(TESTS),$(if $(filter test_%,$(notdir $(source))),$(source)))
TEST_HELPERS  := $(filter-out $(TEST_PROGRAMS),$(TESTS))

PROGRAMS := $(if $(filter sim/main.c,$(SIM)),moesim) $(if $(filter exec/main.c,$(EXEC)),moesim-run)
# where there is an MPI to build it with, and not under the thread sanitizer, which knows none
PROGRAMS += $(if $(filter tsan fuzz,$(VARIANT)),,$(if $(shell command -v mpicc),moesim-run-mpi))
ARCHIVES := $(addprefix $(BUILD)/lib,sim.a exec.a model.a)

# ---- One variant: objects, archives, programs.

.PHONY: programs tests fuzzers benches FORCE
programs: $(ARCHIVES) $(addprefix $(BUILD)/,$(PROGRAMS)) $(BUILD)/data
tests:    programs $(call binaries,$(TEST_PROGRAMS) $(FUZZ))
fuzzers:  $(BUILD)/data $(call binaries,$(FUZZ))
benches:  programs $(call binaries,$(BENCH))

# objects are made again when the compiler or its flags change, archives when a source comes or goes
stamp = @mkdir -p $(@D); echo '$1' | cmp -s - $@ || echo '$1' > $@
$(BUILD)/flags: FORCE ; $(call stamp,$(COMPILE))
$(BUILD)/files: FORCE ; $(call stamp,$(MODEL) $(SIM) $(EXEC) $(TEST_HELPERS))

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(COMPILE) -MMD -MP -c $< -o $@

$(BUILD)/libmodel.a: $(call objects,$(MODEL))
$(BUILD)/libsim.a:   $(call objects,$(SIM))
$(BUILD)/libexec.a:  $(call objects,$(EXEC))
$(BUILD)/libtests.a: $(call objects,$(TEST_HELPERS))
$(BUILD)/lib%.a: $(BUILD)/files
	@rm -f $@
	ar rcs $@ $(filter %.o,$^)

$(BUILD)/moesim:     $(BUILD)/sim/main.o $(BUILD)/libsim.a $(BUILD)/libmodel.a
$(BUILD)/moesim-run: $(BUILD)/exec/main.o $(BUILD)/libexec.a $(BUILD)/libmodel.a
$(BUILD)/moesim $(BUILD)/moesim-run:
	$(LINK) $^ $(LIBS) -o $@

# moesim-run with the other half of the module mpirun; headers of MPI are not ours to warn about
MPI_COMPILE = $(patsubst -I%,-isystem %,$(shell mpicc --showme:compile))
$(call objects,$(REAL_MPI)): $(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(COMPILE) $(MPI_COMPILE) -MMD -MP -c $< -o $@
$(BUILD)/moesim-run-mpi: $(BUILD)/exec/main.o $(call objects,$(REAL_MPI)) $(BUILD)/libexec.a $(BUILD)/libmodel.a
	$(LINK) $^ $(LIBS) $(shell mpicc --showme:link) -o $@

# sim/calibrate alone knows GSL
$(BUILD)/moesim $(filter $(BUILD)/tests/sim/%,$(call binaries,$(TEST_PROGRAMS))): LIBS += -lgsl -lgslcblas
# kernels of exec stand on a library that the model and the simulator do not know, and detect on another
$(BUILD)/moesim-run $(BUILD)/moesim-run-mpi $(filter $(BUILD)/tests/exec/% $(BUILD)/tests/bench/% $(BUILD)/tests/fuzz/fuzz_forward_%,$(call binaries,$(TEST_PROGRAMS) $(BENCH) $(FUZZ))): \
    LIBS += -lopenblas -lhwloc
$(call binaries,$(TEST_PROGRAMS) $(BENCH)): %: %.o $(BUILD)/libtests.a $(ARCHIVES)
	$(LINK) $^ -lcmocka $(LIBS) -o $@

# a fuzz target is driven by libFuzzer in its own variant and by a replay of the corpus in all others
FUZZ_MAIN := $(if $(filter fuzz,$(VARIANT)),,$(BUILD)/tests/fuzz/replay_main.o)
$(call binaries,$(FUZZ)): %: %.o $(FUZZ_MAIN) $(ARCHIVES)
	$(LINK) $(if $(FUZZ_MAIN),,-fsanitize=fuzzer) $^ $(LIBS) -o $@

# programs look for the shipped data in ../share/moesim: here that is the tree itself
.PHONY: $(BUILD)/data
$(BUILD)/data:
	@mkdir -p $(OUT)/share $(BUILD)/tests/share
	@ln -sfn "$(CURDIR)" $(OUT)/share/moesim
	@ln -sfn "$(CURDIR)" $(BUILD)/tests/share/moesim

-include $(patsubst %.c,$(BUILD)/%.d,$(MODEL) $(SIM) $(EXEC) $(REAL_MPI) $(TESTS) $(BENCH) $(call sources,tests/fuzz))

# ---- Goals.

RUN = MOESIM_SHARED=$(SHARED) RELEASE=$(OUT)/release tests/run
variant = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) --silent VARIANT=$1

.PHONY: all demo demo-calibrate test check fuzz bench clang tsan coverage install clean $(PROGRAMS)
all: programs $(PROGRAMS)

$(PROGRAMS): programs
	@cmp -s $(BUILD)/$@ $@ || cp $(BUILD)/$@ $@

demo:
	@tests/tools/install_packages build
	@$(MAKE) $(call variant,release) all
	./moesim rank --topo nvl72.json

# a machine without network namespaces, or the rights for them, gets one line
demo-calibrate:
	@tests/tools/install_packages build tools
	@$(MAKE) $(call variant,release) all
	@BUILD=$(OUT)/release tests/calibrate.sh || exit 1

# a program that does not build is a failed test, not the end of the run
test:
	@tests/tools/install_packages build test tools
	@built=0; $(MAKE) $(call variant,asan) --keep-going tests || built=1; \
	 $(MAKE) $(call variant,release) --keep-going all || built=1; \
	 BUILD_STATUS=$$built $(RUN) -b $(OUT)/asan

check:
	@$(MAKE) $(call variant,release) all
	@$(RUN) check

clang:
	@tests/tools/install_packages build test tools
	@$(MAKE) $(call variant,clang) CC=clang tests
	@$(MAKE) $(call variant,release) all
	@$(RUN) -b $(OUT)/clang unit cli
	@tests/tools/same_bytes $(OUT)/release $(OUT)/clang

tsan:
	@tests/tools/install_packages build test
	@$(MAKE) $(call variant,tsan) tests
	@$(RUN) -b $(OUT)/tsan unit

fuzz:
	@tests/tools/install_packages build tools
	@$(MAKE) $(call variant,fuzz) CC=clang fuzzers
	@tests/tools/fuzz $(OUT)/fuzz $(FUZZ_SECONDS)

bench:
	@$(MAKE) $(call variant,release) benches
	@BUILD=$(BUILD) tests/bench/run

coverage:
	@tests/tools/install_packages build test coverage
	@$(MAKE) $(call variant,coverage) tests
	@find $(OUT)/coverage -name '*.gcda' -delete
	@$(RUN) -b $(OUT)/coverage unit cli
	@gcovr --filter model --filter sim --object-directory $(OUT)/coverage --fail-under-line $(COVERED)

install: all
	@tests/tools/install_files "$(DESTDIR)$(PREFIX)"

clean:
	rm -rf $(OUT) moesim moesim-run moesim-run-mpi
