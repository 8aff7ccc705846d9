# libcore, and one small library for each instruction set.
noinst_LIBRARIES += lib/libcore.a
core_libraries = lib/libcore.a
lib_libcore_a_SOURCES =

include lib/base/local.mk
include lib/io/local.mk
include lib/text/local.mk
include lib/data/local.mk
include lib/backend/local.mk
include lib/model/local.mk
include lib/comm/local.mk
include lib/train/local.mk
include lib/telemetry/local.mk
