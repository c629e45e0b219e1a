# moesim calibrate: constants from what was measured.

# --- a run of a plan on a machine where a kernel takes 5 us, not 3 (simulated, and said to be measured): the constant comes back
$ sed 's/"3 us"/"5 us"/' $ROOT/topologies/calibrations/default.json >truth.json
$ moesim rank --topo hgx-h200 --model qwen3-30b-a3b --top 1 --save plan >/dev/null; moesim rank --topo hgx-h200 --model qwen3-30b-a3b --top 1 --calibration truth.json --save real >/dev/null; moesim simulate real/plan-001.json --timeline real.json >/dev/null; sed -i 's/"predicted"/"measured"/' real.json
$ moesim calibrate real.json --plan plan/plan-001.json -o fitted.json | sed -n '/^constant/,/^correlation/p;/^error/,/^each shape/p'; grep '"fixed time of a kernel"' fitted.json | cut -c1-133
> constant                               prior                       fitted  95 % from       to
> gemm bf16 efficiency                   0.800                        0.800      0.768    0.828
> memory bandwidth efficiency            0.800                        0.800      0.797    0.803
> fixed time of a kernel               3.00 us                      5.00 us    4.99 us  5.02 us
> nvlink efficiency                      0.800                        0.800      0.792    0.808
> software time of a step over nvlink   600 ns  not told by the data: stays          -        -
> fixed time of a collective           6.60 us  not told by the data: stays          -        -
> correlation of gemm bf16 efficiency and memory bandwidth efficiency: +0.10
> error, predicted over measured  cases     MAPE      p90    worst      bias
> fitted cases, by the prior         19  22.06 %  36.97 %  39.85 %  -22.06 %
> fitted cases                       19   0.00 %   0.00 %   0.00 %   +0.00 %
> each size left out                 19   0.00 %   0.00 %   0.00 %   +0.00 %
> each shape left out                19   0.00 %   0.00 %   0.00 %   +0.00 %
>     {"param": "fixed time of a kernel", "generation": "hopper", "value": "5 us", "low": "4985039 ps", "high": "5015007 ps", "provenan

# --- a part of a run, and what something stood in for, are fitted by nobody
$ sed 's/"complete": true/"complete": false/' real.json >part.json; moesim calibrate part.json --plan plan/plan-001.json
! moesim: part.json: part of a run, expected a whole one
? 2
$ sed 's/"measured"/"stand-in"/' real.json >stand-in.json; moesim calibrate stand-in.json --plan plan/plan-001.json
! moesim: stand-in.json: something stood in for operation "embedding": nothing is fitted to that
? 2

# --- a skewed run is compared with the simulation of the same load
$ moesim scale plan/plan-001.json --layers 2 --save plan-2 >/dev/null; moesim scale real/plan-001.json --layers 2 --save real-2 >/dev/null; moesim simulate real-2/plan-001.json --load zipf:0.8 --timeline skewed.json >/dev/null; sed -i 's/"predicted"/"measured"/' skewed.json; moesim calibrate skewed.json --plan plan-2/plan-001.json
! moesim: different schedules: the simulation has cf5030713685ca58, skewed.json has 72a1ee312b3e4582
? 2
$ moesim calibrate skewed.json --plan plan-2/plan-001.json --load zipf:0.8 | sed -n '/^fixed time of a kernel  /p'
> fixed time of a kernel               3.00 us                      5.00 us    4.99 us  5.01 us
$ moesim calibrate skewed.json --topo hgx-h200 --load zipf:0.8; moesim calibrate skewed.json --plan plan-2/plan-001.json --load zipf:x
! moesim: --load: expected timelines and --plan with it
! moesim: --load: expected a number from 0 to 8 after "zipf:", found "x"
? 2

# --- a run on another device than the machine of the plan has
$ grep '"device"' real.json; sed 's/"device": ".*"/"device": "CPU core"/' real.json >core-run.json; moesim calibrate core-run.json --plan plan/plan-001.json -o never.json; test -e never.json; echo $?
>   "device": "H200 SXM",
> 1
! moesim: core-run.json: device: expected H200 SXM, found "CPU core"

# --- a run that does not say its device may be of any; of an operation no bound is known, and one run tells no noise
$ sed '/"device"/d' real.json >unsaid.json; moesim calibrate unsaid.json --plan plan/plan-001.json --format json | grep -m 1 '"case"' | cut -c1-150
>     {"case": "embedding of role stage 0", "fitted": true, "small": false, "left_out": null, "samples": 1, "noise": null, "bound_s": null, "measured_s"

# --- a file that cannot be written is found before anything is read
$ moesim calibrate absent.json --plan absent.json -o nowhere/x.json; moesim calibrate absent.json --plan absent.json -o plan
! moesim: nowhere/x.json: cannot be written: no such file or folder
! moesim: plan: cannot be written: is a directory, expected a file
? 2

# --- records: two sizes between two GPUs of one node
$ printf '%s\n' "id,series,source,section,date,gpu,n_gpus,n_nodes,fabric,library,op,dtype,tokens_per_rank,hidden,topk,n_experts,msg_bytes,config,metric,value,unit,read_mode,quality,notes" "B1,s,bench,,d,H100,2,1,f,l,send_recv,int8,,,,,1000000,from=0 to=1,latency,12.5,us,raw,," "B2,s,bench,,d,H100,2,1,f,l,send_recv,int8,,,,,100000000,from=0 to=1,latency,292,us,raw,," "B3,s,bench,,d,H100,2,1,f,l,send_recv,int8,,,,,300000000,from=0 to=1,latency,860,us,raw,," >bench.csv; moesim calibrate bench.csv --topo hgx-h100
> case                                                   part    samples  noise    bound  measured  predicted    error  without it     prior
> send_recv int8 0 to 1, 2 ranks on 1 node, 1000000 B    fitted        1      -  2.72 us   12.5 us    12.5 us  -0.01 %           -  -16.18 %
> send_recv int8 0 to 1, 2 ranks on 1 node, 100000000 B  fitted        1      -   223 us    292 us     293 us  +0.19 %           -   -2.23 %
> send_recv int8 0 to 1, 2 ranks on 1 node, 300000000 B  fitted        1      -   667 us    860 us     858 us  -0.19 %           -   -2.21 %
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
> measured: the min of the samples; noise: 95 % interval of their median, which one sample does not tell
> chi2 0.46 per degree of freedom, 0 outliers; 9 of 9 starts agree
$ moesim calibrate bench.csv; moesim calibrate bench.csv --topo hgx-h100 --max-mape 4; moesim calibrate bench.csv --topo hgx-h100 --held-out bench.csv --max-mape 0.0001 >/dev/null; echo $?
> 1
! moesim: --topo: expected the machine that was measured
! moesim: --max-mape: expected --held-out with it, whose errors it limits
! moesim: --max-mape: 0.13 % over 3 cases held out, expected at most 0.0001 %

# --- several record files; no case; small cases alone
$ moesim calibrate bench.csv bench.csv --topo hgx-h100; head -n 1 bench.csv >empty.csv; moesim calibrate empty.csv --topo hgx-h100; moesim calibrate bench.csv --topo hgx-h100 --min-bound 1h
! moesim: bench.csv: expected one record file, or timelines with --plan: fit one file, then the other with the constants of the first as --calibration
! moesim: empty.csv: no case to fit
! moesim: bench.csv: all 3 cases have a bound below 1.00 h: none is left to fit
? 2

# --- faster than the links are: a machine that others were measured on
$ { cat bench.csv; for s in 50 150 200 250 400; do sed -n "s/^B2/C$s/;s/,100000000,/,${s}000000,/;s/,292,/,$((s * 285 / 100 + 7)),/p" bench.csv; done; } | sed '/^C200/s/,577,/,400,/' >fast.csv; moesim calibrate fast.csv --topo hgx-h100 | sed -n '/faster/p;/^nvlink eff/p;/^chi2/p'; sed -n '1p;/^C200/p' fast.csv >fastest.csv; moesim calibrate fastest.csv --topo hgx-h100
> 1 of 8 cases is faster than the links of HGX H100, 8 GPUs allow: is it the machine that was measured?
> nvlink efficiency                      0.800                        0.786      0.781    0.791
> chi2 25.86 per degree of freedom, 2 outliers; 9 of 9 starts agree
! moesim: fastest.csv: the cases tell no constant better than it was known: 1 of 1 cases is faster than the links of HGX H100, 8 GPUs allow: is it the machine that was measured?
? 2

# --- links that are not NVLink have its constants
$ sed 's/,H100,/,MI300X,/;s/,12.5,/,40,/;s/,292,/,2100,/;s/,860,/,6250,/' bench.csv >amd.csv; moesim calibrate amd.csv --topo mi300x | sed -n '/^constant/,/^AMD/p'
> constant                               prior                       fitted  95 % from       to
> nvlink efficiency                      0.750                        0.752      0.747    0.756
> software time of a step over nvlink   900 ns                      8.81 us    8.48 us  9.16 us
> fixed time of a collective           9.90 us  not told by the data: stays          -        -
> AMD Instinct MI300X platform, 8 GPUs has no nvlink: constants of nvlink are those of its other links inside a node (xgmi, other)

# --- records of another machine: ranks on more nodes than its GPUs are, kernels of another device
$ sed 's/,2,1,f,/,2,2,f,/' bench.csv >far.csv; moesim calibrate far.csv --topo hgx-h100; sed 's/,H100,/,CPU core,/' bench.csv >cores.csv; moesim calibrate cores.csv --topo hgx-h100
! moesim: far.csv:2: n_nodes: expected 1, the nodes that the first 2 GPUs of the machine are on, found "2"
! moesim: cores.csv:2: gpu: expected H100 SXM, found "CPU core"
? 2

# --- kernels of a core that reaches half of its arithmetic and of its bandwidth, at 100 ns a kernel (worked out by hand): 64 rows of a 1024 x 1024 product are 134.2 Mflop at 131.2 Gflop/s and 0.1 us
$ row() { printf 'K%s,s,bench,,d,CPU core,l,%s,%s,%s,,,,,,,,,,,,,,%s,latency,%s,us,raw,,\n' "$@"; }; printf '%s\n' "id,series,source,section,date,gpu,library,op,dtype,m,n,k,groups,batch,q_len,kv_len,heads,kv_heads,head_dim,hidden,inter,experts,topk,ep,tp,config,metric,value,unit,read_mode,quality,notes" >k.csv; { row 1 gemm f32 1,1024,1024 "" 300; row 2 gemm f32 64,1024,1024 "" 1023.1; row 3 gemm f32 1024,1024,1024 "" 16368.1; row 4 gemm f32 1024,2048,512 "" 16368.1; row 5 stream_copy f32 ,, bytes=1024 0.246; row 6 stream_copy f32 ,, bytes=16384 2.441; row 7 stream_copy f32 ,, bytes=1048576 149.9; row 8 stream_copy f32 ,, bytes=65536 4; row 9 gemm bf16 64,1024,1024 "" 1300; } >>k.csv; moesim calibrate k.csv --topo mesh:2,10GB/s --device "CPU core" -o core.json; grep -c '"generation": "cpu".*"measured"' core.json
> case                           part      samples  noise    bound  measured  predicted    error  without it       prior
> gemm f32 n=1024 k=1024 m=1     fitted          1      -   150 us    300 us     300 us  +0.01 %     +0.01 %    -36.52 %
> gemm f32 n=1024 k=1024 m=64    fitted          1      -   512 us   1.02 ms    1.02 ms  -0.00 %     -0.00 %    -28.29 %
> gemm f32 n=1024 k=1024 m=1024  fitted          1      -  8.18 ms   16.4 ms    16.4 ms  +0.00 %     +0.00 %    -28.55 %
> gemm f32 n=2048 k=512 m=1024   fitted          1      -  8.18 ms   16.4 ms    16.4 ms  +0.00 %     +0.00 %    -28.55 %
> stream_copy f32, 1024 B        fitted          1      -  73.1 ns    246 ns     246 ns  +0.00 %     +0.26 %  +1156.68 %
> stream_copy f32, 16384 B       fitted          1      -  1.17 us   2.44 us    2.44 us  -0.02 %     -0.03 %    +82.83 %
> stream_copy f32, 1048576 B     fitted          1      -  74.9 us    150 us     150 us  +0.01 %     +0.01 %    -35.54 %
> stream_copy f32, 65536 B       left out        1      -  4.68 us   4.00 us          -        -           -           -
> gemm bf16 n=1024 k=1024 m=64   left out        1      -   512 us   1.30 ms          -        -           -           -
> left out, 1 case: faster than the nominal rates of CPU core allow: from a cache, or its rates are higher
> left out, 1 case: CPU core computes bf16 in f32, and what it takes to convert has no price
>
> constant                       prior   fitted  95 % from      to
> gemm bf16 efficiency           0.700    0.500      0.498   0.502
> memory bandwidth efficiency    0.800    0.500      0.498   0.502
> fixed time of a kernel       3.00 us  99.7 ns    97.6 ns  102 ns
> correlation of gemm bf16 efficiency and memory bandwidth efficiency: +0.00
> correlation of gemm bf16 efficiency and fixed time of a kernel: +0.00
> correlation of memory bandwidth efficiency and fixed time of a kernel: +0.38
>
> error, predicted over measured  cases      MAPE       p90      worst       bias
> fitted cases, by the prior          7  199.57 %   82.83 %  1156.68 %  +154.58 %
> fitted cases                        7    0.01 %    0.01 %     0.02 %    +0.00 %
> each size left out                  7    0.04 %    0.03 %     0.26 %    +0.04 %
> each shape left out                 7  185.32 %  117.86 %  1178.41 %  +185.32 %
>
> measured: the min of the samples; noise: 95 % interval of their median, which one sample does not tell
> chi2 0.00 per degree of freedom, 0 outliers; 9 of 9 starts agree
> 3
$ sed 's/CPU core/H100/' k.csv >other.csv; moesim calibrate other.csv --topo mesh:2,10GB/s --device "CPU core"
! moesim: other.csv:2: gpu: expected CPU core, found "H100"
? 2
$ sed -n '1p;/,bf16,/p' k.csv >bf16.csv; moesim calibrate bf16.csv --topo mesh:2,10GB/s --device "CPU core"
! moesim: bf16.csv: 1 of 1 cases are left out, none is left to fit: gemm bf16 n=1024 k=1024 m=64: CPU core computes bf16 in f32, and what it takes to convert has no price
? 2
