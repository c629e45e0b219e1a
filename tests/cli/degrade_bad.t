# Faults that make no sense: one line that names the fault, exit status 2.
$ moesim topo nvl72 --degrade ''
! moesim: --degrade: expected a fault on both sides of each comma, found ""
? 2
$ moesim topo nvl72 --degrade 'nvswitch[4]'
! moesim: --degrade "nvswitch[4]": expected PART:LEFT or FROM>TO:LEFT, such as tray[0].nic[1]:down
? 2
$ moesim topo nvl72 --degrade 'nvswitch[4]:slow'
! moesim: --degrade "nvswitch[4]:slow": expected what is left: down, a share such as 50% or 17/18, a rate such as 25GB/s, or cables-1, found "slow"
? 2
$ moesim topo nvl72 --degrade 'nvswich[4]:down'
! moesim: --degrade "nvswich[4]:down": no part "nvswich" in template "rack", did you mean "nvswitch"?
? 2
$ moesim topo nvl72 --degrade 'gpu[4]:down'
! moesim: --degrade "gpu[4]:down": no part "gpu" in template "rack", it has tray, nvswitch
? 2
$ moesim topo nvl72 --degrade 'nvswitch[4-99]:down'
! moesim: --degrade "nvswitch[4-99]:down": nvswitch[99] does not exist, nvswitch has indices 0 to 17
? 2
$ moesim topo nvl72 --degrade 'tray[0].nic[0]>nvswitch[4]:down'
! moesim: --degrade "tray[0].nic[0]>nvswitch[4]:down": no link joins tray[0].nic[0] to nvswitch[4]
? 2
$ moesim topo nvl72 --degrade 'nvswitch[4]:120%'
! moesim: --degrade "nvswitch[4]:120%": expected a share above 0 and below 1, found "120%"
? 2
$ moesim topo nvl72 --degrade 'nvswitch[4]:60GB/s'
! moesim: --degrade "nvswitch[4]:60GB/s": no link that it names is faster as built
? 2
$ moesim topo nvl72 --degrade 'nvswitch[4]:cables-1'
! moesim: --degrade "nvswitch[4]:cables-1": nvswitch[4] to tray[0].gpu[0] has 1 cable: take fewer, or write down for all of it
? 2
$ moesim topo nvl72 --degrade 'tray[*].gpu[*]:down'
! moesim: $ROOT/topologies/nvl72.json: its faults leave no GPU
? 2
$ moesim topo ring:4,450GB/s --degrade 'gpu[0]>gpu[3]:down,gpu[1]>gpu[2]:down'
! moesim: ring:4,450GB/s: with its faults gpu[0] cannot reach gpu[2]
? 2
$ moesim topo nvl72 --degrade 'nvswitch[4]:down' --degrade 'nvswitch[5]:down'
! moesim: --degrade: given twice
? 2
$ moesim rank --topo nvl72 --degrade 'nvswitch[4]'
! moesim: --degrade "nvswitch[4]": expected PART:LEFT or FROM>TO:LEFT, such as tray[0].nic[1]:down
? 2
$ moesim simulate --topo hgx-h100 --collective all-to-all --size 1MiB --ranks 0-7 --degrade 'gpu[7]:down'
! moesim: --ranks: GPU 7 is not there: the machine has GPUs 0 to 6
? 2
$ moesim topo "$ROOT/tests/bad/topo-fault-cut.json"
! moesim: $ROOT/tests/bad/topo-fault-cut.json: with its faults gpu[0] cannot reach gpu[2]
? 2
$ moesim topo "$ROOT/tests/bad/topo-fault-no-link.json"
! moesim: $ROOT/tests/bad/topo-fault-no-link.json:7:14: faults[0]: no link joins gpu[0] to gpu[1]
? 2
$ moesim topo "$ROOT/tests/bad/topo-fault-unknown.json"
! moesim: $ROOT/tests/bad/topo-fault-unknown.json:7:23: faults[0].part: no part "swi" in template "node", did you mean "sw"?
? 2
