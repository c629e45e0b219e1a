# The option table prints itself.

$ moesim help
> usage: moesim COMMAND [OPTION]... [OPERAND]...
>
> rank parallel plans for Mixture-of-Experts inference by simulation
>
> commands:
>   rank           order all parallel plans for a model on a machine
>   whatif         vary one or two inputs and say where the best plan changes
>   plan-capacity  machines and dollars for so many tokens a day
>   simulate       simulate a saved plan again, a collective or transfers
>   compare        lay a predicted and a measured timeline side by side
>   explain        say where the time and the memory of a saved plan go, or why two differ
>   topo           check and summarise a machine
>   model          check and summarise a model's config.json
>   fit            say what fits where, term by term
>   check          say whether an engine starts a plan
>   tenants        say what several plans on one machine cost each other
>   load           make or summarise a load: which experts tokens go to
>   validate       hold predictions against published measurements
>   shard          say which bytes of which files each rank of a plan reads
>   calibrate      fit the constants of the price model to measurements
>   scale          make a smaller plan with the communication pattern of a saved one
>   emit           print the lines that start a plan on an engine
>   import-plan    read lines that start an engine back into a plan
>   run            run a plan for real (starts moesim-run)
>   view           look at a machine and a timeline (moesim-view, not part of this build)
>   help           list the commands, or explain one
>   version        print the version
>   man            print the manual page (mdoc)
>   completion     print the completion script for bash and zsh
>
> "moesim help COMMAND" shows the options of a command

$ moesim --help | head -n 1
> usage: moesim COMMAND [OPTION]... [OPERAND]...

$ moesim help simulate
> usage: moesim simulate [OPTION]... [PLAN]
>
> simulate a saved plan again, a collective or transfers
>
> Reads a plan that rank --save wrote, with the inputs beside it, simulates it and
> says whether the saved prediction came out again. Exits with 1 when it did not.
> With --collective: simulates that on a machine and prints time, lower bound and
> bandwidths as nccl-tests defines them. With --transfers: moves bytes between
> GPUs, CPUs, NICs, memories and storage of a machine, named as messages name them
> (tray[3].gpu[1]; a number is a GPU) or by patterns (gpu[*]), and prints when
> each is there.
>
> options:
>       --phase decode|prefill                                                  which phase --trace, --schedule and --timeline write (default decode)
>       --trace FILE                                                            write a trace for chrome://tracing or ui.perfetto.dev (- for stdout)
>       --schedule FILE                                                         write the schedule that was simulated, for moesim-run (- for stdout)
>       --timeline FILE                                                         write the time of every operation, for "moesim compare" (- for stdout)
>       --form auto|folded|refined|expanded                                     one member for all ranks of a role, for ranks that are alike, or for every rank (default auto)
>       --load LOAD                                                             which experts tokens go to: uniform (as without), zipf:S, lognormal:SIGMA or a file of "moesim load"
>       --samples N                                                             with a law in --load: step times over that many sampled loads, as percentiles (default 0)
>       --flow-eps PART                                                         let transfers that end within this part of their time end together, such as 1e-3; links idle meanwhile come on top; 0 is exact (default 0)
>   -f, --format table|json                                                     how to print the result (default table)
>       --collective all-reduce|all-gather|reduce-scatter|all-to-all|broadcast  simulate this collective instead of a plan
>   -t, --topo MACHINE                                                          with --collective or --transfers: on this machine
>       --device NAME                                                           the GPUs of the machine are of this device of the catalogue, whatever it says of them
>       --degrade FAULTS                                                        parts and links that are down or slow, such as "nvswitch[4]:down", see "moesim help topo"
>       --size SIZE                                                             with --collective: bytes such as 1MiB; of an all-to-all, from each rank to each other one
>       --ranks FIRST-LAST                                                      with --collective: these GPUs (default all)
>       --algorithm NAME                                                        with --collective: direct, ring, one-shot, pairwise, tree, pipelined-tree, in-switch, hierarchical, or auto, which compares all and takes the fastest (default direct)
>       --inner N                                                               with --algorithm hierarchical: ranks of a node (default: of a scale-up domain)
>       --calibration FILE                                                      with --collective or --transfers: constants of the price model
>       --nominal                                                               with --collective or --transfers: links at their nominal rates, no software time
>       --matrix FILE                                                           with --collective all-to-all: bytes or sizes from each rank (row) to each one (column)
>       --count N                                                               with --collective: that many calls in a row (default 1)
>       --transfers FILE                                                        simulate these transfers: lines of FROM, TO, BYTES and perhaps START, such as "gpu[i], dram[i/4], 1GiB"
>       --mover kernels|copy-engines                                            with --transfers: what GPUs move bytes with, which decides how much of NVLink they reach (default copy-engines)
>       --network flow|packet                                                   with --collective or --transfers: links shared by flows, or by packets with credits and finite buffers (default flow)
>       --mtu SIZE                                                              of packets: payload (default 4096B)
>       --buffer SIZE                                                           of packets: room behind each link (default twice what its latency needs)
>       --route stripe|hash|adaptive                                            of packets: dealt over all paths, one path for each pair, or to the emptiest output (default stripe)
>       --seed N                                                                of packets: which paths; of --samples: which tokens (default 1)

$ moesim explain --help
> usage: moesim explain [OPTION]... PLAN [PLAN]
>
> say where the time and the memory of a saved plan go, or why two differ
>
> Prints what takes the time of a cycle and of one phase, the time by class of
> operation with its share of the roofline, communication against its links and
> what hides it, the fullest link and whose bytes are on it, memory by term, how
> much the result hangs on each constant and class of links, and every constant
> with its interval and source. Of two plans: why one step is slower, class by
> class, and what would turn their order.
>
> options:
>       --phase decode|prefill   which phase to explain (default decode)
>   -q, --quick                  leave out what is simulated again and again: sensitivity, and what turns the order
>       --degrade FAULTS         parts and links that are down or slow, such as "nvswitch[4]:down", see "moesim help topo"
>       --flow-eps PART          let transfers that end within this part of their time end together, such as 1e-3; links idle meanwhile come on top; 0 is exact (default 0)
>   -f, --format table|json|csv  how to print the result (default table)

$ moesim version
> moesim 0.1.0

$ moesim --version
> moesim 0.1.0

$ moesim man | head -n 3
> .Dd November 29, 2026
> .Dt MOESIM 1
> .Os

$ moesim completion | bash -n

# What completion offers for a MACHINE, asked of the program when it is needed.
$ moesim completion MACHINE
> a100-pcie
> cloudmatrix384
> dgx1-v100
> dgx2
> gb200-nvl4
> gb300-nvl72
> h100-nvl
> h800-planes
> hgx-a100
> hgx-b200
> hgx-b300
> hgx-h100
> hgx-h100-cluster
> hgx-h20
> hgx-h200
> hgx-h800
> hgx-rubin
> l40s
> mi250x
> mi300a
> mi300x
> mi325x
> mi355x
> nvl72
> nvl72-cluster
> redstone-a100
> redstone-h100
> rtx-4090
> rtx-pro-6000
> tpu-v5p
> tpu-v5p-cube
> tpu7x
> vr-nvl72

$ moesim completion FILE
! moesim: completion: expected MACHINE, SCENARIO or MODEL, found "FILE"
? 2

$ moesim help topo
> usage: moesim topo [OPTION]... MACHINE
>
> check and summarise a machine
>
> Reads a topology file, a shipped name, a one-line string or a dump of a real
> machine, and prints counts, bandwidth out of a GPU by class of link, bisection
> and diameter. Dumps are what these print or read: nvidia-smi topo -m and nvlink
> -s, rocm-smi --showtopo, amd-smi topology, NCCL and RCCL topology XML, hwloc
> XML, ibnetdiscover and ibsim, Slurm topology.conf and topology.yaml, topograph,
> NetQ, NMX-C, and the simulators SimAI, ASTRA-sim and htsim; what is degraded,
> tied, missing, assumed or unknown is listed, and --format json prints a topology
> file to edit. The strings are ring:N,RATE, switch:N,RATE and mesh:N,RATE (N GPUs
> on links of RATE in each direction, such as switch:8,450GB/s); torus:4x4x4,RATE;
> dragonfly:p=2,a=4,h=2,RATE (a*h+1 groups of a routers with p GPUs and h
> channels); fattree:k=8,RATE (k^3/4 GPUs);
> leafspine:nodes=32,gpus=8,nic=RATE,nvlink=RATE,leaf=16,oversubscription=2
> (leaves of 16 NICs; ports=N to refuse larger switches); superpod-h100:Nsu,
> superpod-b200:Nsu, superpod-b300:Nsu, superpod-b300-xdr:Nsu and
> superpod-rubin:Nsu (N units; nodes=N of a unit); nvl72:N, gb300-nvl72:N and
> vr-nvl72:N (N racks under a non-blocking tree), hgx-h100:N, -a100, -h200, -h20,
> -h800, -b200, -b300, -rubin, mi300x:N, mi325x:N and mi355x:N (N nodes, the
> same). After a comma follow, for units, racks and nodes, ib=RATE or eth=RATE
> (InfiniBand or Ethernet of each NIC: ib=400Gbps, ib=NDR, eth=400G) and
> oversubscription=R (one cable up for R down at a leaf); latency=TIME (of a link
> of those with rates; 500 ns by default in ring, switch and mesh); and
> device=NAME (of every GPU; H100 SXM by default in those with rates, TPU v5p in
> torus). --degrade takes faults separated by commas: PART:LEFT, or FROM>TO:LEFT
> for the links between two parts. Parts are named from the root of the machine,
> as in its file: tray[0].gpu[1], nvswitch[*]; a name that ends at a template
> stands for all parts inside. LEFT is down, a share such as 50% or 17/18, a rate
> such as 25GB/s (the most that each link keeps in each direction) or cables-N (N
> cables of each link are down). A slow part has slow links. Quote it, because
> shells expand brackets, * and >.
>
> options:
>       --device NAME            the GPUs of the machine are of this device of the catalogue, whatever it says of them
>       --degrade FAULTS         parts and links that are down or slow, such as "nvswitch[4]:down", see "moesim help topo"
>   -f, --format table|json|csv  how to print the result (default table)

# Commands that are programs beside this one; everything after the word is theirs.
$ cp "$(command -v moesim)" . && ./moesim run --help
! moesim: moesim-run is not built: not found beside moesim
? 2

$ ./moesim view
! moesim: moesim-view is not built: not found beside moesim
? 2

$ printf '#!/bin/sh\necho "$@"\nexit 7\n' >moesim-view; chmod +x moesim-view; ./moesim view --layout "a b" --help
> --layout a b --help
? 7

$ chmod -x moesim-view; ./moesim view
! moesim: moesim-view cannot be started: Permission denied
? 2

# A full disk is an error, not silence.
$ moesim help >/dev/full
! moesim: cannot write to stdout: No space left on device
? 2
