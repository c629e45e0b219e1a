# The option table prints itself.

$ moesim help
> usage: moesim COMMAND [OPTION]... [OPERAND]...
>
> rank parallel plans for Mixture-of-Experts inference by simulation
>
> commands:
>   rank        order all parallel plans for a model on a machine
>   simulate    simulate a saved plan again, or one collective
>   explain     say where the time and the memory of a saved plan go
>   topo        check and summarise a machine
>   model       check and summarise a model's config.json
>   run         run a plan for real (starts moesim-run)
>   view        look at a machine and a timeline (moesim-view, not part of this build)
>   help        list the commands, or explain one
>   version     print the version
>   man         print the manual page (mdoc)
>   completion  print the completion script for bash and zsh
>
> "moesim help COMMAND" shows the options of a command

$ moesim --help | head -n 1
> usage: moesim COMMAND [OPTION]... [OPERAND]...

$ moesim help simulate
> usage: moesim simulate [OPTION]... [PLAN]
>
> simulate a saved plan again, or one collective
>
> Reads a plan that rank --save wrote, with the inputs beside it, simulates it and
> says whether the saved prediction came out again. Exits with 1 when it did not.
> With --collective: simulates that on a machine and prints time, lower bound and
> bandwidths as nccl-tests defines them.
>
> options:
>       --phase decode|prefill                                        which phase --trace and --schedule write (default decode)
>       --trace FILE                                                  write a trace for chrome://tracing or ui.perfetto.dev (- for stdout)
>       --schedule FILE                                               write the schedule that was simulated, for moesim-run (- for stdout)
>       --form auto|folded|expanded                                   one member for ranks of equal work, or one for every rank (default auto)
>   -f, --format table|json                                           how to print the result (default table)
>       --collective all-reduce|all-gather|reduce-scatter|all-to-all  simulate this collective instead of a plan
>   -t, --topo MACHINE                                                with --collective: on this machine
>       --size SIZE                                                   with --collective: bytes such as 1MiB; of an all-to-all, from each rank to each other one
>       --ranks FIRST-LAST                                            with --collective: these GPUs (default all)
>       --algorithm direct|ring|one-shot|pairwise                     with --collective: how it is done (default direct)
>       --calibration FILE                                            with --collective: constants of the price model
>       --nominal                                                     with --collective: links at their nominal rates, no software time

$ moesim explain --help
> usage: moesim explain [OPTION]... PLAN
>
> say where the time and the memory of a saved plan go
>
> Prints what takes the time of a cycle and of one phase, the time by class of
> operation with its share of the roofline, communication that nothing hides,
> bytes and bandwidth by class of link, memory by term, and every constant with
> its interval and source.
>
> options:
>       --phase decode|prefill  which phase to explain (default decode)

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
> hgx-b200
> hgx-h100
> hgx-h100-cluster
> hgx-h200
> nvl72
> nvl72-cluster

$ moesim completion FILE
! moesim: completion: expected MACHINE, SCENARIO or MODEL, found "FILE"
? 2

$ moesim help topo
> usage: moesim topo [OPTION]... MACHINE
>
> check and summarise a machine
>
> Reads a topology file, a shipped name or a one-line string, and prints counts,
> bandwidth out of a GPU by class of link, bisection and diameter. The strings are
> ring:N,RATE, switch:N,RATE and mesh:N,RATE (N GPUs on links of RATE in each
> direction, such as switch:8,450GB/s), nvl72:N (N racks) and hgx-h100:N (N
> nodes). After a comma follow latency=TIME (of a link of ring, switch or mesh;
> 500 ns by default) and device=NAME (of every GPU; H100 SXM by default in ring,
> switch and mesh).
>
> options:
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
