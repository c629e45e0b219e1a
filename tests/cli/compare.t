# What was predicted beside what was measured. Times of a real run differ from run to run: only what stays is shown.
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --isl 128 --osl 32 --save saved >saved.txt; moesim simulate saved/plan-001.json --schedule decode.json --timeline sim.json | tail -n 1; moesim-run run decode.json --tokens 16 --sequences 16 --kv-tokens 2304 --qk-pairs 2304 --timeline real.json | grep -c 'stage 0' >/dev/null; moesim compare sim.json real.json --by operation | sed -n '1,3p;/_reduce/p;/^[0-9]/p' | sed 's/  *[0-9.]* [mun]*s  *-*[0-9.]* %/ T E/;s/schedule .*/schedule D/'
> reproduced: yes
> schedule D
> predicted  by simulator (folded), topology.json, H100 SXM
> measured   by host (expanded), this machine, 4 ranks in shared memory, CPU core
> embedding_reduce    stage 0  tp collectives         nvlink  measured      2    17.0 us T E
> attention_reduce    stage 0  tp collectives         nvlink  measured     96     814 us T E
> routed_all_reduce   stage 0  tp collectives         nvlink  measured     96     814 us T E
> 16 operations were skipped in the run: no error of the whole is given

# The same machine with a member for each rank: nothing differs.
$ moesim simulate saved/plan-001.json --form expanded --timeline ranks.json | tail -n 1; moesim compare sim.json ranks.json
> reproduced: yes
> schedule   fd7349726a851613, shape c53d60fe6401e11a
> predicted  by simulator (folded), topology.json, H100 SXM
> measured   by simulator (expanded), topology.json, H100 SXM
>
> class                  link    operations  predicted  measured  error  mean |error|  worst  of
> embedding              -                1    6.10 us   6.10 us   +0 %           0 %   +0 %  embedding (stage 0)
> attention              -                1     333 us    333 us   +0 %           0 %   +0 %  attention (stage 0)
> attention projections  -                2     921 us    921 us   +0 %           0 %   +0 %  qkv_proj (stage 0)
> router                 -                2     644 us    644 us   +0 %           0 %   +0 %  router (stage 0)
> routed experts         -                3    7.74 ms   7.74 ms   +0 %           0 %   +0 %  experts_gate_up (stage 0)
> norms and elementwise  -                4     892 us    892 us   +0 %           0 %   +0 %  input_norm (stage 0)
> head and sampling      -                2     133 us    133 us   +0 %           0 %   +0 %  lm_head (stage 0)
> tp collectives         nvlink           4    1.68 ms   1.68 ms   +0 %           0 %   +0 %  embedding_reduce (stage 0)
> moe combine            -                1     295 us    295 us   +0 %           0 %   +0 %  weighted_sum (stage 0)
> all that was run                       20    12.6 ms   12.6 ms   +0 %           0 %   +0 %  embedding (stage 0)
>
> of a rank              predicted  measured  error
> whole run                12.6 ms   12.6 ms   +0 %
> communication            1.68 ms   1.68 ms   +0 %
> exposed communication    1.68 ms   1.68 ms   +0 %

# A file that does not say its device is compared all the same.
$ sed '/"device"/d' real.json >unsaid.json; moesim compare sim.json unsaid.json | grep '^measured'; moesim compare sim.json unsaid.json --format json | grep _on
> measured   by host (expanded), this machine, 4 ranks in shared memory, device not said
>   "predicted_on": "H100 SXM",
>   "measured_on": null,

$ moesim compare real.json sim.json
! moesim: real.json: expected a prediction, found operation "embedding" skipped
? 2

$ moesim-run run decode.json --tokens 8 --sequences 8 --kv-tokens 2304 --qk-pairs 2304 --timeline other.json | grep -c 'stage 0' >/dev/null; moesim compare sim.json other.json 2>&1 | sed 's/has [0-9a-f]*/has D/g'
> moesim: different shapes: sim.json has D, other.json has D

$ sed 's/all-reduce in-switch/all-reduce mpi/' real.json >mpi.json; moesim compare sim.json mpi.json
! moesim: operation "embedding_reduce" of role "stage 0": sim.json has all-reduce in-switch, mpi.json has all-reduce mpi
? 2

$ moesim simulate --topo switch:4,450GB/s --collective all-reduce --size 1MiB --timeline x.json
! moesim: --timeline: expected a saved plan with it, found --collective or --transfers
? 2

$ moesim compare sim.json ranks.json --max-error 0 | tail -n 1; moesim compare sim.json ranks.json --max-error 0 --format json | grep -c error_percent >/dev/null && echo kept
> exposed communication    1.68 ms   1.68 ms   +0 %
> kept

$ moesim compare sim.json real.json --max-error 10 >far.txt
! moesim: the errors exceed --max-error, or there are none
? 1

# A bound that no operation was held to is not kept.
$ sed 's/"work": "measured"/"work": "skipped"/' real.json >none.json; moesim compare sim.json none.json --max-error 1e9 >none.txt
! moesim: the errors exceed --max-error, or there are none
? 1

$ moesim compare sim.json ranks.json --max-error -1
! moesim: --max-error: expected a percentage of 0 or more, found -1
? 2
