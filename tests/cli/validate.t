# moesim validate: predictions beside published measurements. tests/golden/checkpoints.csv and truth_memory.csv have the
# published figures of shipped models, with their sources.

# the gate: what is stated to be exact comes out exactly
$ moesim validate "$ROOT/tests/golden/checkpoints.csv" --max-error 0 | tail -n 1
> 23 predicted, 0 refused, 23 in total; mean error over families 0 %; 0 over the bound of 0 %

# weights of a rank and bytes of a token within 1.5 %
$ moesim validate "$ROOT/tests/golden/truth_memory.csv" --max-error 1.5
> id    series                  model                                     predicted  measured  unit      error
> M001  weights_per_rank        Qwen/Qwen3-30B-A3B                          14.2355   14.2474  GiB     -0.08 %
> M003  kv_available_per_rank   openai/gpt-oss-120b                               -   -2.1400  GiB     refused
>         the note states no gpu_memory_utilization
> M009  weights_per_rank        Llama-3.3-70B-Instruct-FP8                  33.8345   33.8800  GiB     -0.13 %
> M010  kv_available_per_rank   Llama-3.3-70B-Instruct-FP8                  31.9796        32  GiB     -0.03 %
>         of GPU memory
> M023  weights_per_rank        deepseek-ai/DeepSeek-R1                     79.5312   79.4100  GiB     +0.15 %
> M024  weights_per_rank        meta-llama/Llama-3.1-405B-Instruct-FP8      57.7050   57.7520  GiB     -0.08 %
> M031  weights_per_rank        Qwen/Qwen3-30B-A3B                          16.3705   16.3900  GiB     -0.12 %
> M034  kv_tokens               deepseek-ai/DeepSeek-V3                 161507.4436    161488  tokens  +0.01 %
> M055  kv_tokens               deepseek-ai/DeepSeek-V3                           -    107824  tokens  refused
>         neither the note nor another row of this start states the size of the cache
> M057  kv_available_per_rank   Qwen/Qwen3-235B-A22B-FP8                          -    8.1100  GiB     refused
>         the note states no gpu_memory_utilization
> M058  kv_tokens               Qwen/Qwen3-235B-A22B-FP8                180935.1353    178880  tokens  +1.15 %
> M071  local_experts_per_rank  Qwen3-VL-235B-A22B                               32        32  of 128      0 %
> M072  local_experts_per_rank  Qwen3-Coder-480B-A35B                            20        20  of 160      0 %
> M074  local_experts_per_rank  (256-expert model)                              128       128  of 256      0 %
>
> series                  rows  predicted  median  90th percentile     bias   worst
> weights_per_rank           5          5  0.12 %           0.15 %  -0.05 %  0.15 %
> kv_available_per_rank      3          1  0.03 %           0.03 %  -0.03 %  0.03 %
> kv_tokens                  3          2  0.58 %           1.15 %  +0.58 %  1.15 %
> local_experts_per_rank     3          3     0 %              0 %      0 %     0 %
>
> family (mean over series)  series  rows  predicted  median  90th percentile     bias   worst
> memory                          4    14         11  0.18 %           0.33 %  +0.13 %  1.15 %
>
> 11 predicted, 3 refused, 14 in total; mean error over families 0.18 %; 0 over the bound of 1.5 %

# by series; * stands for any characters
$ moesim validate "$ROOT/tests/golden/checkpoints.csv" "$ROOT/tests/golden/truth_memory.csv" --series 'router*' -f json
> {
>   "moesim": "validation",
>   "version": 1,
>   "records": [
>     {"id": "C013", "series": "router_bf16_bytes", "model": "moonshotai/Kimi-K3", "unit": "B", "predicted": 1181745152, "measured": 1181745152, "error_percent": 0, "percent_of": "measured", "exceeds": false}
>   ],
>   "series": [
>     {"series": "router_bf16_bytes", "family": "checkpoint", "rows": 1, "predicted": 1, "median_percent": 0, "p90_percent": 0, "bias_percent": 0, "worst_percent": 0}
>   ],
>   "families": [
>     {"family": "checkpoint", "series": 1, "rows": 1, "predicted": 1, "median_percent": 0, "p90_percent": 0, "bias_percent": 0, "worst_percent": 0}
>   ],
>   "predicted": 1,
>   "refused": 0,
>   "rows": 1,
>   "mean_percent": 0
> }

$ moesim validate "$ROOT/tests/golden/truth_memory.csv" --series 'kv_*' --format csv
> id,series,model,predicted,measured,unit,error_percent,percent_of,status,remark
> M003,kv_available_per_rank,openai/gpt-oss-120b,,-2.14,GiB,,,refused,the note states no gpu_memory_utilization
> M010,kv_available_per_rank,Llama-3.3-70B-Instruct-FP8,31.979558693245053,32,GiB,-0.02581625000634459,GPU memory,predicted,
> M034,kv_tokens,deepseek-ai/DeepSeek-V3,161507.44364298726,161488,tokens,0.01204030205789811,measured,predicted,
> M055,kv_tokens,deepseek-ai/DeepSeek-V3,,107824,tokens,,,refused,neither the note nor another row of this start states the size of the cache
> M057,kv_available_per_rank,Qwen/Qwen3-235B-A22B-FP8,,8.11,GiB,,,refused,the note states no gpu_memory_utilization
> M058,kv_tokens,Qwen/Qwen3-235B-A22B-FP8,180935.13531914892,178880,tokens,1.1488904959463986,measured,predicted,

# rows over the bound are marked, and the exit status is 1
$ moesim validate "$ROOT/tests/golden/truth_memory.csv" --series weights_per_rank --max-error 0.1
> id    series            model                                   predicted  measured  unit    error
> M001  weights_per_rank  Qwen/Qwen3-30B-A3B                        14.2355   14.2474  GiB   -0.08 %
> M009  weights_per_rank  Llama-3.3-70B-Instruct-FP8                33.8345   33.8800  GiB   -0.13 %
>         exceeds the bound
> M023  weights_per_rank  deepseek-ai/DeepSeek-R1                   79.5312   79.4100  GiB   +0.15 %
>         exceeds the bound
> M024  weights_per_rank  meta-llama/Llama-3.1-405B-Instruct-FP8    57.7050   57.7520  GiB   -0.08 %
> M031  weights_per_rank  Qwen/Qwen3-30B-A3B                        16.3705   16.3900  GiB   -0.12 %
>         exceeds the bound
>
> series            rows  predicted  median  90th percentile     bias   worst
> weights_per_rank     5          5  0.12 %           0.15 %  -0.05 %  0.15 %
>
> family (mean over series)  series  rows  predicted  median  90th percentile     bias   worst
> memory                          1     5          5  0.12 %           0.15 %  -0.05 %  0.15 %
>
> 5 predicted, 0 refused, 5 in total; mean error over families 0.12 %; 3 over the bound of 0.1 %
? 1

# a bound that no row is held to is not kept
$ head -n 1 "$ROOT/tests/golden/checkpoints.csv" > none.csv && moesim validate none.csv --max-error 5
> id  series  model  predicted  measured  unit  error
>
> series  rows  predicted  median  90th percentile  bias  worst
>
> family (mean over series)  series  rows  predicted  median  90th percentile  bias  worst
>
> 0 predicted, 0 refused, 0 in total; 0 over the bound of 5 %
? 1

# configs lie in ../models beside the folder of the records, or where --models says
$ mkdir records models && sed 's/"num_hidden_layers": 61/"num_hidden_layers": 60/' "$ROOT/scenarios/models/deepseek-v3.json" > models/deepseek-ai--DeepSeek-V3.json && grep -E '^(id|C029)' "$ROOT/tests/golden/checkpoints.csv" > records/r.csv && moesim validate records/r.csv -f csv
> id,series,model,predicted,measured,unit,error_percent,percent_of,status,remark
> C029,hub_params_total,deepseek-ai/DeepSeek-V3,673023397464,684531386000,params,-1.6811484135513401,measured,predicted,
$ moesim validate records/r.csv -f csv --models "$ROOT/scenarios"
> id,series,model,predicted,measured,unit,error_percent,percent_of,status,remark
> C029,hub_params_total,deepseek-ai/DeepSeek-V3,684531386000,684531386000,params,0,measured,predicted,
$ moesim validate records/r.csv --models nowhere
! moesim: --models: nowhere: no such folder
? 2

# kinds of records without a predictor are read and refused
$ printf '%s\n' id,series,source,section,date,kind,hw,n_gpus,fabric,model,bytes,config,metric,value,unit,read_mode,quality,notes 'L1,mooncake,s,,,weight_load,H800,8,,m,,,time,7.2,s,table,A,' > load.csv && moesim validate load.csv
> id  series    model  predicted  measured  unit    error
> L1  mooncake  m              -    7.2000  s     refused
>         no predictor for loading records yet
>
> series    rows  predicted  median  90th percentile  bias  worst
> mooncake     1          0       -                -     -      -
>
> family (mean over series)  series  rows  predicted  median  90th percentile  bias  worst
> loading                         1     1          0       -                -     -      -
>
> 0 predicted, 1 refused, 1 in total

# bad input: one line, status 2
$ moesim validate
! moesim: validate: missing operand, expected FILES...
? 2
$ moesim validate nosuch.csv
! moesim: nosuch.csv: no such file or folder
? 2
$ moesim validate "$ROOT/tests/bad/record-unknown.csv"
! moesim: $ROOT/tests/bad/record-unknown.csv:1: not a record file: column 1 is "case", expected "id"
? 2
$ moesim validate "$ROOT/tests/bad/record-duplicate.csv"
! moesim: $ROOT/tests/bad/record-duplicate.csv:3: id "C001" stands in line 2 already
? 2
$ moesim validate "$ROOT/tests/bad/record-value.csv"
! moesim: $ROOT/tests/bad/record-value.csv:2: value: expected a number, found "many"
? 2
$ moesim validate "$ROOT/tests/bad/record-short.csv"
! moesim: $ROOT/tests/bad/record-short.csv:2: 3 cells, expected 8 as in line 1
? 2
$ moesim validate "$ROOT/tests/bad/record-quote.csv"
! moesim: $ROOT/tests/bad/record-quote.csv:2: a quote is not closed
? 2
$ moesim validate "$ROOT/tests/bad/record-not-utf8.csv"
! moesim: $ROOT/tests/bad/record-not-utf8.csv:2: not UTF-8
? 2
$ moesim validate none.csv --series heat
! moesim: --series: no row is of a series "heat"
? 2
$ moesim validate none.csv --series 're:('
! moesim: --series: pattern "(": "(" is not supported
? 2
$ moesim validate none.csv --max-error -1
! moesim: --max-error: expected a percentage of 0 or more, found -1
? 2
$ moesim validate none.csv --max-error much
! moesim: --max-error: expected a number such as "2.5", found "much"
? 2

# a figure in another unit is not compared
$ (sed -n 1p "$ROOT/tests/golden/checkpoints.csv"; sed -n 's/,params,/,GB,/p' "$ROOT/tests/golden/checkpoints.csv" | head -n 1) > gb.csv; moesim validate gb.csv -f csv
> id,series,model,predicted,measured,unit,error_percent,percent_of,status,remark
> C016,hub_params_total,moonshotai/Kimi-K3,,2779931837184,GB,,,refused,"hub_params_total in ""GB"", expected params"
