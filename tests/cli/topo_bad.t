# Each bad input: one line on stderr, nothing on stdout, exit status 2.
$ moesim topo
! moesim: topo: missing operand, expected MACHINE
? 2
$ moesim topo nosuch.json
! moesim: nosuch.json: no such file here or in the shipped data
? 2
$ moesim topo nvl73
! moesim: nvl73: no such file here or in the shipped data, did you mean "nvl72"?
? 2
$ moesim topo full:8,100GB/s
! moesim: full:8,100GB/s: no such file here or in the shipped data, and no machine: expected a name such as ring:4,450GB/s, see "moesim help topo"
? 2
$ moesim topo "$ROOT/tests/bad"
! moesim: $ROOT/tests/bad: is a directory, expected a file
? 2
$ moesim topo nvl72.json --format xml
! moesim: --format: expected table, json or csv, found "xml"
? 2
$ moesim topo ring:4,450GB
! moesim: "ring:4,450GB", column 8: expected a rate such as "450 GB/s", latency=TIME or device=NAME, found "450GB"
? 2
$ moesim topo "$ROOT/tests/bad/topo-unknown-gpu.json"
! moesim: $ROOT/tests/bad/topo-unknown-gpu.json:3:57: templates.node.parts.gpu.device: unknown device "H1000 SXM", did you mean "H100 SXM"?
? 2
$ moesim topo "$ROOT/tests/bad/topo-missing-part.json"
! moesim: $ROOT/tests/bad/topo-missing-part.json:4:49: templates.node.links[0].to: no part "swi" in template "node", did you mean "sw"?
? 2
$ moesim topo "$ROOT/tests/bad/topo-negative-bandwidth.json"
! moesim: $ROOT/tests/bad/topo-negative-bandwidth.json:4:87: templates.node.links[0].bandwidth: expected a rate such as "400 Gbit/s", found "-450 GB/s"
? 2
$ moesim topo "$ROOT/tests/bad/topo-unitless-bandwidth.json"
! moesim: $ROOT/tests/bad/topo-unitless-bandwidth.json:4:87: templates.node.links[0].bandwidth: expected a rate such as "400 Gbit/s", found "450": no unit
? 2
$ moesim topo "$ROOT/tests/bad/topo-disconnected.json"
! moesim: $ROOT/tests/bad/topo-disconnected.json: gpu[0] cannot reach gpu[2]
? 2
$ moesim topo "$ROOT/tests/bad/topo-cycle.json"
! moesim: $ROOT/tests/bad/topo-cycle.json: template "a" contains itself through "b"
? 2
$ moesim topo "$ROOT/tests/bad/topo-count-huge.json"
! moesim: $ROOT/tests/bad/topo-count-huge.json:3:78: templates.node.parts.gpu.count: expected 1 to 1000000, found 1000000000
? 2
$ moesim topo "$ROOT/tests/bad/topo-brackets.json"
! moesim: $ROOT/tests/bad/topo-brackets.json:1:65: nesting deeper than 64 levels
? 2
$ moesim topo "$ROOT/tests/bad/topo-not-utf8.json"
! moesim: $ROOT/tests/bad/topo-not-utf8.json:1:48: byte 0xe4 is not UTF-8
? 2
$ moesim topo "$ROOT/tests/bad/topo-truncated.json"
! moesim: $ROOT/tests/bad/topo-truncated.json:4:24: unexpected end of file, expected a value or ']'
? 2
$ moesim topo "$ROOT/tests/bad/topo-newer-version.json"
! moesim: $ROOT/tests/bad/topo-newer-version.json:1:35: version: topology format 2 is newer than this program, which reads up to 1
? 2
$ head -c 100000 /dev/zero > zeros && moesim topo zeros
! moesim: zeros:1:1: expected a value, found byte 0x00
? 2
$ moesim topo superpod-h100:4su,nodes=40
! moesim: "superpod-h100:4su,nodes=40", column 19: a leaf would have 40 cables down and 40 up, QM9700 has 64 ports
? 2
$ moesim topo superpod-b200:4
! moesim: "superpod-b200:4", column 15: expected a count such as "4su"
? 2
$ moesim topo nvl72:2,450GB/s
! moesim: "nvl72:2,450GB/s", column 9: expected oversubscription=N, ib=RATE, eth=RATE or device=NAME, found "450GB/s"
? 2
$ moesim topo nvl72:2,ib=400
! moesim: "nvl72:2,ib=400", column 9: expected a rate such as "400 Gbit/s", found "400": no unit
? 2
$ moesim topo nvl72:2,ib=NDX
! moesim: "nvl72:2,ib=NDX", column 9: expected a rate such as "400 Gbit/s" or "400G", or a generation of InfiniBand (SDR, DDR, QDR, FDR, EDR, HDR, NDR, XDR), found "NDX"
? 2
$ moesim topo nvl72:2,ib=1600Gbps
! moesim: "nvl72:2,ib=1600Gbps", column 9: expected at most 800 Gbit/s, the port of a switch
? 2
$ moesim topo nvl72:2,ib=400Gbps,eth=400Gbps
! moesim: "nvl72:2,ib=400Gbps,eth=400Gbps", column 20: expected ib= or eth=, not both
? 2
$ moesim topo nvl72:1,eth=400Gbps
! moesim: "nvl72:1,eth=400Gbps", column 9: one copy has no network, expected a size of 2 or more
? 2
$ moesim topo nvl72:2,ib=400Gbps,oversubscription=4
! moesim: "nvl72:2,ib=400Gbps,oversubscription=4", column 20: a leaf has 18 cables down, expected a divisor of them
? 2
$ moesim topo hgx-b200:37
! moesim: "hgx-b200:37", column 10: 37 copies make no equal groups of at most 32, in steps of 1, for QM9700 with 64 ports
? 2
$ moesim topo superpod-b300:2su,ib=400Gbps
! moesim: "superpod-b300:2su,ib=400Gbps", column 19: expected nodes=N or device=NAME, found "ib=400Gbps"
? 2
$ moesim topo dragonfly:p=2,a=4,50GB/s
! moesim: "dragonfly:p=2,a=4,50GB/s", column 25: expected "h="
? 2

# A ring that others run into is no ring.
$ moesim topo "$ROOT/tests/bad/topo-axis-rho.json"
! moesim: $ROOT/tests/bad/topo-axis-rho.json: link "y[i].g[j]" to "y[(i+1)%4].g[j]": policy dimension-order: expected a ring or line of GPUs along one level, such as gpu[i] to gpu[(i+1)%4], or gpu[0] to gpu[1]
? 2
