# hosts.sh -- two "hosts": network namespaces with a link between them; the same bits; the link taken down.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/mpi/ranks-lib.sh"

command -v mpirun >/dev/null || skip_all "no mpirun"
command -v ip >/dev/null || skip_all "no ip"
minimind-pretrain --version | grep -q '^transports: .*mpi' || skip_all "built without MPI"
case $(cat "$builddir/config.status") in *fsanitize*) skip_all "MPI libraries are not built for sanitizers" ;; esac

OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM

a=mma$$ b=mmb$$
clean_up () { ip netns del $a; ip netns del $b; } 2>/dev/null
trap 'clean_up; rm -rf "$tap_dir"' 0
trap 'exit 1' INT TERM
set_up ()
{
  ip netns add $a && ip netns add $b \
    && ip link add mmva$$ netns $a type veth peer name mmvb$$ netns $b \
    && ip -n $a addr add 10.213.7.1/24 dev mmva$$ && ip -n $b addr add 10.213.7.2/24 dev mmvb$$ \
    && ip -n $a link set mmva$$ up && ip -n $b link set mmvb$$ up \
    && ip -n $a link set lo up && ip -n $b link set lo up
}
set_up 2>errors || skip_all "network namespaces are not permitted: $(head -n 1 errors)"

# mpirun's way to start its daemon on "host" 10.213.7.2; a host name of its own makes it another host.
cat >agent <<END
#!/bin/sh
shift
exec ip netns exec $b unshare --uts sh -c "hostname hostb; \$*"
END
chmod +x agent
# across RANKS COMMAND...: as many ranks on both hosts, by minimind-launch, which calls mpirun.
cat >mca.conf <<END
plm_rsh_agent = $tap_dir/agent
pml = ob1
btl = tcp,self
btl_tcp_if_include = 10.213.7.0/24
oob_tcp_if_include = 10.213.7.0/24
END
across ()
{
  n=$1; shift
  ip netns exec $a unshare --uts sh -c 'hostname hosta; exec "$@"' sh \
    env OMPI_MCA_mca_base_param_files="$tap_dir/mca.conf" \
    minimind-launch -n $((2 * n)) --no-pin --hosts="10.213.7.1:$n,10.213.7.2:$n" -- "$@"
}

$(pretrain one) || exit 99
goal=$(digest_of one)
same () { found=$(digest_of "$1"); echo "found $found, want $goal"; test "$found" = "$goal"; }

straight () { rm -rf next; across "$1" $(pretrain next --threads=1 --zero="$2" | sed 's/ -q / /') 2>said; r=$?; cat said
              test $r = 0 && same next; }
ok "two hosts of two ranks each" straight 2 0
ok "both are in the table" sh -c 'grep "rank [01]  hosta" said && grep "rank [23]  hostb" said && grep mpi+shm said'
ok "with moments shared out" straight 2 1
ok "two hosts of one rank" straight 1 1
$(buckets tiny) || exit 99
many_buckets () { rm -rf next; across 2 $(buckets next --zero="$1") && test "$(digest_of next)" = "$(digest_of tiny)"; }
ok "many buckets" many_buckets 0
ok "many buckets, with moments shared out" many_buckets 1

link_down ()
{
  rm -rf long
  across 1 $(pretrain long --steps=1000000 --save-every=50 --keep=2 --threads=1 --timeout=8) 2>said & launcher=$!
  i=0; while test ! -e long/latest && test $i -lt 600; do sleep 0.05; i=$((i + 1)); done
  ip -n $a link set mmva$$ down
  wait $launcher; result=$?
  cat said
  test $result = 75 && grep 'rank [01] has not answered' said && minimind-ckpt-inspect --verify long
}
ok "the link taken down: a rank is named, status 75" link_down
no_orphan ()
{
  i=0
  while test -n "$(ip netns pids $a; ip netns pids $b)" && test $i -lt 600; do sleep 0.1; i=$((i + 1)); done
  ip netns pids $a; ip netns pids $b
  test -z "$(ip netns pids $a; ip netns pids $b)"
}
ok "and no process is left on either host" no_orphan
tap_done
