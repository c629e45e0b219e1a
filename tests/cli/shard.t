# moesim shard: which bytes of which files each rank of a plan reads.

# --- Qwen3-235B-A22B, 94 layers on 4 stages of 8 ranks: stages of 24, 24, 23, 23; 128 experts, 16 on each position
$ $ROOT/tests/cli/plan_by_hand.sh qwen3-235b-a22b 8 4 1 8 >plan.json; moesim shard plan.json
> plan     TP8 PP4 DP1 EP8 x1, pool 0; 32 ranks of a replica, 1 replica
> model    qwen3-235b-a22b, 470187269120 bytes in 36945 tensors
> files    a virtual file per layer, in the order of the inventory: real ones with --checkpoint
> stages   "even", by the plan
>
> stage  layers  ranks  read by all  largest rank  smallest  largest/mean
>     0    0-23      8       121 GB       15.1 GB   15.1 GB         1.000
>     1   24-47      8       120 GB       15.0 GB   15.0 GB         1.000
>     2   48-70      8       115 GB       14.4 GB   14.4 GB         1.000
>     3   71-93      8       116 GB       14.5 GB   14.5 GB         1.000
> largest over mean of all 32 ranks: 1.026
>
> ranks  stage   bytes each  rounded  files
> 0-7        0  15129653248  15.1 GB     25
> 8-15       1  14974070784  15.0 GB     24
> 16-23      2  14350151168  14.4 GB     23
> 24-31      3  14505741824  14.5 GB     24
>
> a rank reads   all ranks  over what they keep  host memory of a rank  of all ranks
> byte ranges       472 GB                1.000                 156 MB       2.69 GB
> whole tensors     582 GB                1.234                1.24 GB       21.0 GB
> whole files      3.78 TB                8.017                4.98 GB        159 GB
> host memory: a rank has one tensor (its part of one, or one file) there at a time, the largest that it reads
>
> all 470187269120 bytes of 36945 tensors are read, each by exactly its owners

# vLLM gives the two left-over layers to the stages in the middle, SGLang to the last ones
$ moesim shard plan.json --engine vllm | sed -n '/^stages/p; /^stage /,/^largest/p'
> stages   "vllm", by vllm
> stage  layers  ranks  read by all  largest rank  smallest  largest/mean
>     0    0-22      8       116 GB       14.5 GB   14.5 GB         1.000
>     1   23-46      8       120 GB       15.0 GB   15.0 GB         1.000
>     2   47-70      8       120 GB       15.0 GB   15.0 GB         1.000
>     3   71-93      8       116 GB       14.5 GB   14.5 GB         1.000
> largest over mean of all 32 ranks: 1.016
$ moesim shard plan.json --engine sglang | sed -n '/^stages/p; /^stage /,/^largest/p'
> stages   "sglang", by sglang
> stage  layers  ranks  read by all  largest rank  smallest  largest/mean
>     0    0-22      8       116 GB       14.5 GB   14.5 GB         1.000
>     1   23-45      8       115 GB       14.4 GB   14.4 GB         1.000
>     2   46-69      8       120 GB       15.0 GB   15.0 GB         1.000
>     3   70-93      8       121 GB       15.1 GB   15.1 GB         1.000
> largest over mean of all 32 ranks: 1.026

# a plan that lists its stages keeps them
$ $ROOT/tests/cli/plan_by_hand.sh qwen3-235b-a22b 8 2 1 8 '"stages": [46, 48]' >listed.json; moesim shard listed.json --engine vllm | sed -n '/^plan/p; /^stages/p; /^stage /,/^largest/p'
> plan     TP8 PP2 DP1 EP8 x1 stages 46+48, pool 0; 16 ranks of a replica, 1 replica
> stages   "listed", by vllm
> stage  layers  ranks  read by all  largest rank  smallest  largest/mean
>     0    0-45      8       231 GB       28.9 GB   28.9 GB         1.000
>     1   46-93      8       241 GB       30.1 GB   30.1 GB         1.000
> largest over mean of all 16 ranks: 1.021

# --- the ranges of one rank
$ $ROOT/tests/cli/plan_by_hand.sh olmoe-1b-7b 2 1 1 2 >olmoe.json; moesim shard olmoe.json --rank 1 | sed -n '/^rank 1/,/^layer-1 /p'
> rank 1 reads 146 ranges (each one with --format csv or json)
> file           ranges      bytes         of
> before-layers       2  206049280  412094464
> layer-0             9  419708928  839139328
> layer-1             9  419708928  839139328
$ moesim shard olmoe.json --rank 1 --format csv | head -n 8
> rank,file,offset_B,length_B,stride_B,count
> 1,before-layers,103022592,103026688,103026688,1
> 1,before-layers,309071872,103022592,103022592,1
> 1,layer-0,0,8192,8192,1
> 1,layer-0,4202496,4194304,4194304,1
> 1,layer-0,12591104,4194304,4194304,1
> 1,layer-0,20979712,4194304,4194304,1
> 1,layer-0,25176064,2048,4096,2048
$ moesim shard olmoe.json --rank 1 --format json | grep -v digest | sed '/^  "files"/,/^  "ranges"/d' | head -n 26
> {
>   "moesim": "shard",
>   "version": 1,
>   "virtual_files": true,
>   "stage_cut": "even",
>   "is_covered": true,
>   "tensors": 3219,
>   "tensors_B": 13838323712,
>   "skipped_tensors": 0,
>   "skipped_B": 0,
>   "largest_over_mean": 1,
>   "stages": [
>     {"first_layer": 0, "layers": 16, "read_B": 13842784256, "largest_rank_B": 6921392128, "smallest_rank_B": 6921392128}
>   ],
>   "ranks": [
>     {"first": 0, "last": 1, "stage": 0, "read_B": 6921392128, "tensors_B": 7395872768, "files_B": 13838323712, "files": 17}
>   ],
>   "readers": [
>     {"reads": "ranges", "all_ranks_B": 13842784256, "largest_rank_B": 6921392128, "amplification": 1, "host_B_per_rank": 103022592, "host_B_all_ranks": 206045184},
>     {"reads": "tensors", "all_ranks_B": 14791745536, "largest_rank_B": 7395872768, "amplification": 1.0685527753991169, "host_B_per_rank": 206045184, "host_B_all_ranks": 412090368},
>     {"reads": "files", "all_ranks_B": 27676647424, "largest_rank_B": 13838323712, "amplification": 1.9993555423652483, "host_B_per_rank": 839139328, "host_B_all_ranks": 1678278656}
>   ],
>   "rank": 1,
>     {"file": 0, "offset_B": 103022592, "length_B": 103026688, "stride_B": 103026688, "count": 1},
>     {"file": 0, "offset_B": 309071872, "length_B": 103022592, "stride_B": 103022592, "count": 1},
>     {"file": 1, "offset_B": 0, "length_B": 8192, "stride_B": 8192, "count": 1},
$ moesim shard olmoe.json --format csv
> first_rank,last_rank,stage,read_B,tensors_B,files_B,files
> 0,1,0,6921392128,7395872768,13838323712,17

# --- all 497,220 tensors of Kimi-K3 on 72 ranks: 896 = 72 x 12 + 32 experts
$ $ROOT/tests/cli/plan_by_hand.sh kimi-k3 4 1 18 72 >k3.json; moesim shard k3.json
> plan     TP4 PP1 DP18 EP72 x1, pool 0; 72 ranks of a replica, 1 replica
> model    kimi-k3, 1560860324864 bytes in 497220 tensors
> files    a virtual file per layer, in the order of the inventory: real ones with --checkpoint
> stages   "even", by the plan
>
> stage  layers  ranks  read by all  largest rank  smallest  largest/mean
>     0    0-92     72      4.11 TB       58.0 GB   56.4 GB         1.016
> largest over mean of all 72 ranks: 1.016
>
> ranks  stage   bytes each  rounded  files
> 0-31       0  57987552256  58.0 GB     94
> 32-71      0  56373203968  56.4 GB     94
>
> a rank reads   all ranks  over what they keep  host memory of a rank  of all ranks
> byte ranges      4.11 TB                1.000                 587 MB       42.3 GB
> whole tensors    9.62 TB                2.340                2.35 GB        169 GB
> whole files       112 TB               27.324                17.0 GB       1.22 TB
> host memory: a rank has one tensor (its part of one, or one file) there at a time, the largest that it reads
>
> skipped: 894717952 bytes of 168 tensors (drafts, vision), read by no rank
> all 1559965606912 bytes of 497052 tensors are read, each by exactly its owners

# --- what cannot be
$ moesim shard k3.json --engine sglang
! moesim: sglang refuses ep 72, which does not divide 896 experts
? 1
$ moesim shard k3.json --rank 72
! moesim: --rank: expected a rank below 72, found 72
? 2
$ moesim shard k3.json --pool 1
! moesim: --pool: expected a pool below 1, found 1
? 2
$ $ROOT/tests/cli/plan_by_hand.sh deepseek-v3 32 1 1 1 >cut.json; moesim shard cut.json
! moesim: cut.json: tp 32 cuts the dense width 18432 into 576, not whole blocks of 128
? 2
$ sed 's/"digest": "[0-9a-f]*"/"digest": "0123456789abcdef"/' k3.json >other.json; moesim shard other.json 2>&1 | sed 's/digest [0-9a-f]*/digest D/'
> moesim: $ROOT/scenarios/models/kimi-k3.json: digest D is not the 0123456789abcdef that the plan was made for
$ moesim shard k3.json --checkpoint nowhere
! moesim: nowhere: no such file or folder
? 2
$ mkdir empty; moesim shard k3.json --checkpoint empty
! moesim: empty: no .safetensors files and no index of them
? 2
$ moesim shard
! moesim: shard: missing operand, expected PLAN
? 2
