# moesim calibrate: constants from what was measured.

# --- a run of a plan on a machine where a kernel takes 5 us, not 3 (simulated, and said to be measured): the constant comes back
$ sed 's/"3 us"/"5 us"/' $ROOT/topologies/calibrations/default.json >truth.json
$ moesim rank --topo hgx-h200 --model qwen3-30b-a3b --top 1 --save plan >/dev/null; moesim rank --topo hgx-h200 --model qwen3-30b-a3b --top 1 --calibration truth.json --save real >/dev/null; moesim simulate real/plan-001.json --timeline real.json >/dev/null; sed -i 's/"predicted"/"measured"/' real.json
$ moesim calibrate real.json --plan plan/plan-001.json -o fitted.json | sed -n '/^constant/,/^correlation/p;/^error/,/^each shape/p'; grep '"fixed time of a kernel"' fitted.json | cut -c1-133
> constant                               prior                       fitted  95 % from       to
> gemm bf16 efficiency                   0.800                        0.800      0.768    0.829
> memory bandwidth efficiency            0.800                        0.800      0.797    0.803
> fixed time of a kernel               3.00 us                      5.00 us    4.99 us  5.01 us
> nvlink efficiency                      0.800                        0.800      0.792    0.808
> software time of a step over nvlink   600 ns  not told by the data: stays          -        -
> fixed time of a collective           6.60 us  not told by the data: stays          -        -
> correlation of gemm bf16 efficiency and memory bandwidth efficiency: +0.10
> error, predicted over measured  cases     MAPE      p90    worst      bias
> fitted cases, by the prior         19  22.06 %  36.97 %  39.85 %  -22.06 %
> fitted cases                       19   0.00 %   0.00 %   0.00 %   +0.00 %
> each size left out                 19   0.00 %   0.00 %   0.00 %   +0.00 %
> each shape left out                19   0.00 %   0.00 %   0.00 %   +0.00 %
>     {"param": "fixed time of a kernel", "generation": "hopper", "value": "5 us", "low": "4985046 ps", "high": "5014998 ps", "provenan

# --- a part of a run, and what something stood in for, are fitted by nobody
$ sed 's/"complete": true/"complete": false/' real.json >part.json; moesim calibrate part.json --plan plan/plan-001.json
! moesim: part.json: part of a run, expected a whole one
? 2
$ sed 's/"measured"/"stand-in"/' real.json >stand-in.json; moesim calibrate stand-in.json --plan plan/plan-001.json
! moesim: stand-in.json: something stood in for operation "embedding": nothing is fitted to that
? 2

# --- records: two sizes between two GPUs of one node
$ printf '%s\n' "id,series,source,section,date,gpu,n_gpus,n_nodes,fabric,library,op,dtype,tokens_per_rank,hidden,topk,n_experts,msg_bytes,config,metric,value,unit,read_mode,quality,notes" "B1,s,bench,,d,H100,2,1,f,l,send_recv,int8,,,,,1000000,from=0 to=1,latency,12.5,us,raw,," "B2,s,bench,,d,H100,2,1,f,l,send_recv,int8,,,,,100000000,from=0 to=1,latency,292,us,raw,," "B3,s,bench,,d,H100,2,1,f,l,send_recv,int8,,,,,300000000,from=0 to=1,latency,860,us,raw,," >bench.csv; moesim calibrate bench.csv --topo hgx-h100
> case                                              part    samples   noise    bound  measured  predicted    error  without it     prior
> send_recv 0 to 1, 2 ranks on 1 node, 1000000 B    fitted        1  0.00 %  2.72 us   12.5 us    12.5 us  -0.01 %           -  -16.18 %
> send_recv 0 to 1, 2 ranks on 1 node, 100000000 B  fitted        1  0.00 %   223 us    292 us     293 us  +0.19 %           -   -2.23 %
> send_recv 0 to 1, 2 ranks on 1 node, 300000000 B  fitted        1  0.00 %   667 us    860 us     858 us  -0.19 %           -   -2.21 %
>
> constant                               prior                       fitted  95 % from       to
> nvlink efficiency                      0.800                        0.786      0.781    0.790
> software time of a step over nvlink   600 ns                      2.57 us    2.47 us  2.67 us
> fixed time of a collective           6.60 us  not told by the data: stays          -        -
> correlation of nvlink efficiency and software time of a step over nvlink: +0.20
>
> error, predicted over measured  cases    MAPE      p90    worst     bias
> fitted cases, by the prior          3  6.87 %  16.18 %  16.18 %  -6.87 %
> fitted cases                        3  0.13 %   0.19 %   0.19 %  -0.00 %
> each size left out                  0       -        -        -        -
> each shape left out                 0       -        -        -        -
>
> measured: the min of the samples; noise: 95 % interval of their median, mean 0.00 %; cases with a bound below 0 ms are small: printed, not judged
> chi2 0.46 per degree of freedom, 0 outliers; 9 of 9 starts agree
$ moesim calibrate bench.csv; moesim calibrate bench.csv --topo hgx-h100 --max-mape 4; moesim calibrate bench.csv --topo hgx-h100 --held-out bench.csv --max-mape 0.0001 >/dev/null; echo $?
> 1
! moesim: --topo: expected the machine that was measured
! moesim: --max-mape: expected --held-out with it, whose errors it limits
! moesim: --max-mape: 0.13 % over 3 cases held out, expected at most 0.0001 %
