# The reference run, built for aarch64 and run under emulation, gives the committed digest: by the NEON
# kernels and by the generic ones.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/digest.sh"

compiler=aarch64-linux-gnu-gcc
emulator=qemu-aarch64-static
command -v $compiler >/dev/null || skip_all "no $compiler"
command -v $emulator >/dev/null || emulator=qemu-aarch64
command -v $emulator >/dev/null || skip_all "no qemu-aarch64-static or qemu-aarch64"

config_h "$tap_dir/arm" neon
ok "the reference run builds alone for aarch64" build_digest "$tap_dir/arm" $compiler -O2 -static
for kernels in neon generic; do
  MM_CPU=$kernels; export MM_CPU
  digest_is "$kernels kernels on aarch64" $emulator "$tap_dir/arm/digest" 2
done
tap_done
