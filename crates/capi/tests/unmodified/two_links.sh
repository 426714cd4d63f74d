# iperf3 over two links between two network namespaces, of which one is cut. Both carry data before, and the transfer goes on afterwards.
# Arguments: the library, and the version of IP. It runs as root in network and mount namespaces of its own (unshare --net --mount).
set -eu
library=$1 version=$2
at() { if [ "$version" = 4 ]; then echo "10.71.$1.$2"; else echo "fd71:$1::$2"; fi; }
if [ "$version" = 4 ]; then length=24; else length=64; fi

mkdir -p /run/netns
mount -t tmpfs none /run/netns
ip netns add other
for link in 1 2; do
  ip link add "a$link" type veth peer name "b$link" netns other
  ip address add "$(at "$link" 1)/$length" dev "a$link" $([ "$version" = 4 ] || echo nodad)
  ip -n other address add "$(at "$link" 2)/$length" dev "b$link" $([ "$version" = 4 ] || echo nodad)
  ip link set "a$link" up
  ip -n other link set "b$link" up
done
# Before, the kernel drops what they would carry.
for link in 1 2; do
  until ip link show "a$link" | grep -q 'state UP' && ip -n other link show "b$link" | grep -q 'state UP'; do sleep 0.05; done
done

# Bytes that a link has sent.
carried() { awk -v name="$1:" '$1 == name { print $10 }' /proc/net/dev; }
# Waits until the links have sent this many bytes.
await() {
  for link in $2; do
    while [ "$(carried "$link")" -lt "$1" ]; do
      kill -0 "$client" 2>/dev/null || { echo "ended with $(carried a1) and $(carried a2) bytes"; exit 1; }
      sleep 0.05
    done
  done
}

log=$(mktemp)
ip netns exec other env LD_PRELOAD="$library" iperf3 --server --one-off --forceflush >"$log" 2>&1 &
server=$!
until grep -q 'Server listening' "$log"; do sleep 0.05; done
LD_PRELOAD="$library" iperf3 "-$version" --sctp --client "$(at 1 2)" --xbind "$(at 1 1)" --xbind "$(at 2 1)" --bytes 400M &
client=$!
await 4000000 'a1 a2'
echo "before the cut: $(carried a1) and $(carried a2) bytes"
ip link set a2 down
await $(($(carried a1) + 8000000)) a1
wait "$client"
wait "$server"
echo "after the cut: $(carried a1) and $(carried a2) bytes"
rm "$log"
echo both carried
