# What cannot be simulated, on a network: one line that names it, status 2.
$ moesim topo "$ROOT/tests/bad/topo-disconnected.json"
! moesim: $ROOT/tests/bad/topo-disconnected.json: gpu[0] cannot reach gpu[2]
? 2
$ moesim topo "$ROOT/tests/bad/topo-zero-bandwidth.json"
! moesim: $ROOT/tests/bad/topo-zero-bandwidth.json:4:87: templates.node.links[0].bandwidth: expected a rate above 0
? 2
$ moesim topo "$ROOT/tests/bad/topo-axis.json"
! moesim: $ROOT/tests/bad/topo-axis.json: link "gpu[*]" to "gpu[*]": policy dimension-order: expected a ring or line of GPUs along one level, such as gpu[i] to gpu[(i+1)%4], or gpu[0] to gpu[1]
? 2

# Faults that cut the machine in two, or leave a link nothing without saying that it is down.
$ moesim simulate --topo hgx-h100:2 --collective all-to-all --size 1MB --degrade 'unit[0].node[0].nic[*]:down'
! moesim: hgx-h100:2: with its faults unit.node[0].gpu[0] cannot reach unit.node[1].gpu[0]
? 2
$ moesim simulate --topo hgx-h100 --collective all-to-all --size 1MB --degrade 'gpu[0]:0%'
! moesim: --degrade "gpu[0]:0%": expected a share above 0 and below 1, found "0%"
? 2
$ moesim simulate --topo hgx-h100 --collective all-to-all --size 1MB --degrade 'gpu[0]>nvswitch[0]:0GB/s'
! moesim: --degrade "gpu[0]>nvswitch[0]:0GB/s": expected what is left: down, a share such as 50% or 17/18, a rate such as 25GB/s, or cables-1, found "0GB/s"
? 2

# 2^63 bytes: more than 64 bits in all, more than time can hold, more than is simulated.
$ moesim simulate --topo hgx-h100 --collective all-to-all --size 9223372036854775808B
! moesim: --size: 9223372036854775808B for each of 8 ranks is too large
? 2
$ moesim simulate --topo hgx-h100 --collective all-reduce --size 9223372036854775808B
! moesim: operation "all-reduce" takes longer than the 106 days that time can hold
? 2
$ moesim simulate --topo switch:2,1GB/s --collective broadcast --size 9223372036854775808B
! moesim: operation "broadcast": a transfer of 9223372036854775808 bytes is too large to simulate
? 2
$ moesim simulate --topo hgx-h100 --collective all-reduce --size 9223372036854775808B --network packet
! moesim: the transfers have over 134217728 packets: expected fewer bytes or a larger MTU than 4096 B
? 2

# More than can be told apart, refused before they are listed: in an all-to-all, and in each step of a direct
# all-reduce, 4096 ranks send to 4095 others each, which is 16 773 120 transfers. The 489 300 pairs of 700 ranks on a
# ring are too many to search; the 359 400 of 600 are not, but at 150 links on average they have 53.9 million.
$ moesim simulate --topo torus:4096,1GB/s --collective all-reduce --size 1MB
! moesim: operation "all-reduce": more than 4000000 transfers to tell apart: expected fewer ranks; and not folded: the machine is not uniform
? 2
$ moesim simulate --topo torus:16x16x16,100GB/s --collective all-to-all --size 1MB
! moesim: operation "all-to-all": more than 4000000 transfers to tell apart: expected fewer ranks; and not folded: the machine is not uniform
? 2
$ moesim simulate --topo torus:700,1GB/s --collective all-to-all --size 1MB
! moesim: operation "all-to-all": more than 400000 pairs of GPUs have to be searched for routes: expected fewer ranks or a uniform machine; and not folded: the machine is not uniform
? 2
$ moesim simulate --topo torus:600,1GB/s --collective all-to-all --size 1MB
! moesim: operation "all-to-all": the routes of pairs of GPUs that have to be searched have more than 8000000 links: expected fewer ranks or a uniform machine; and not folded: the machine is not uniform
? 2

# Packets, by a sample of the routes: 1024 GPUs have 1 047 552 pairs. The 960 of 1023 that leave their pod have 8 ways
# up, 64 ways on and as many down, 2 + 2 * 8 + 2 * 64 = 146 links; in all over 140 million.
$ moesim simulate --topo fattree:k=16,1GB/s --collective all-to-all --size 1kB --network packet
! moesim: the routes have more than 67108864 links: too many for packets, expected fewer pairs of GPUs
? 2

# Matrices of the wrong size.
$ printf '0 9223372036854775808\n1 0\n' >large.txt; moesim simulate --topo switch:2,1GB/s --collective all-to-all --matrix large.txt
! moesim: large.txt:1:3: expected less than 2^62 B, found 9223372036854775808 B
? 2
$ printf '0 1 2\n1 0 1\n' >wide.txt; moesim simulate --topo switch:2,1GB/s --collective all-to-all --matrix wide.txt
! moesim: wide.txt:1:5: expected a row of 2 numbers, found more
? 2
$ printf '0 1\n1 0\n0 1\n' >long.txt; moesim simulate --topo switch:2,1GB/s --collective all-to-all --matrix long.txt
! moesim: long.txt:3:1: expected 2 rows, found more
? 2
$ printf '0 1\n' >short.txt; moesim simulate --topo switch:2,1GB/s --collective all-to-all --matrix short.txt
! moesim: short.txt: expected 2 rows, found 1
? 2

# A send and a receive that miss each other.
$ sed '76s/"channel": 0/"channel": 5/' "$ROOT/tests/golden/schedule_ring.json" >sent.json; moesim-run run sent.json
! moesim-run: sent.json: send "send" of role "stage 2" has no recv in role "stage 3" on channel 5
? 2
$ sed '65s/"channel": 0/"channel": 5/' "$ROOT/tests/golden/schedule_ring.json" >received.json; moesim-run run received.json
! moesim-run: received.json: send "send" of role "stage 0" has no recv in role "stage 1" on channel 0
? 2

# More ranks in a node than there are; more bytes in all calls than 64 bits count.
$ moesim simulate --topo hgx-h100:2 --collective all-reduce --size 1MB --algorithm hierarchical --inner 17
! moesim: --inner: expected at most the 16 ranks there are, found 17
? 2
$ moesim simulate --topo nvl72 --collective all-to-all --size 10GB --count 7000000
! moesim: 7000000 calls move more than the 2^64 B that can be counted
? 2

# Options that would change nothing.
$ moesim simulate --topo hgx-h100 --collective all-reduce --size 1MB --schedule out.json
! moesim: --schedule: expected a saved plan with it, found --collective or --transfers
? 2
$ moesim simulate plan.json --count 3
! moesim: --count: expected --collective or --transfers with it, found a saved plan
? 2
