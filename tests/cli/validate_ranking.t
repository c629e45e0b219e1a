# moesim validate on a file of rankings: groups of plans, scored by the order in which they are predicted. Figures of a
# group follow from the two measured ones: of 5000 and 5200 tok/s, the wrong plan costs 3.8 %, a random one half of it.

$ printf '%s\n' case_id,source,gpu,n_gpus,nodes,interconnect,model,precision,framework,isl,osl,concurrency_or_rate,tp,pp,dp,ep,other_flags,metric,value,unit A,s,B200,4,1,x,MiniMax-M2.5,FP4,v,1024,1024,64,2,1,1,1,,output_throughput,5000,tok/s A,s,B200,4,1,x,MiniMax-M2.5,FP4,v,1024,1024,64,4,1,1,1,,output_throughput,5200,tok/s A,s,B200,4,1,x,MiniMax-M2.5,FP4,v,1024,1024,64,4,1,1,1,,ttft,90,ms B,s,B200,4,1,x,MiniMax-M2.5,FP4,v,n/k,1024,64,2,1,1,1,,tpot,9,ms B,s,B200,4,1,x,MiniMax-M2.5,FP4,v,n/k,1024,64,4,1,1,1,,tpot,8,ms > ranking.csv && moesim validate ranking.csv
> case  metric             load  plans    tau  regret  top 3  random: regret  top 3  widest TP: tau  regret  top 3
> A     output_throughput  64        2  +1.00   0.0 %      -           1.9 %      -           +1.00   0.0 %      -
>
> groups not scored      count  first
> fewer than two plans       1  A ttft
> an input is not known      1  B tpot
>         isl is "n/k"
>
> metric (mean over groups)  groups  scored  over 3 plans    tau  regret  top 3  random: regret  top 3  widest TP: tau  regret  top 3
> output_throughput               1       1             0  +1.00   0.0 %      -           1.9 %      -           +1.00   0.0 %      -
> ttft (apart)                    1       0             0      -       -      -               -      -               -       -      -
> tpot                            1       0             0      -       -      -               -      -               -       -      -
>
> tau: Kendall's tau-b. regret: of the plan predicted best, in percent of the best measured. top 3: the best measured plan is among the 3 predicted best, of groups over 3 plans. apart: TTFT is that of an idle machine
>
> 1 of 2 groups scored without those apart, 2 plans simulated with constants that are not calibrated; mean tau +1.000, regret 0.0 %; random order: 0, 1.9 %; widest TP: +1.000, 0.0 %
$ moesim validate ranking.csv --series tpot -f csv
> case_id,metric,load,plans,tau,regret_percent,top3,random_tau,random_regret_percent,random_top3,widest_tp_tau,widest_tp_regret_percent,widest_tp_top3,status,reason
> B,tpot,64,2,,,,,,,,,,an input is not known,"isl is ""n/k"""
$ moesim validate ranking.csv --series output_throughput -f csv
> case_id,metric,load,plans,tau,regret_percent,top3,random_tau,random_regret_percent,random_top3,widest_tp_tau,widest_tp_regret_percent,widest_tp_top3,status,reason
> A,output_throughput,64,2,1,0,1,0,1.9230769230769231,1,1,0,1,scored,
$ moesim validate ranking.csv --series output_throughput -f json | tail -n 24
>         "tau": 1,
>         "regret_percent": 0
>       }
>     }
>   ],
>   "all_but_apart": {
>     "groups": 1,
>     "scored": 1,
>     "over_3_plans": 0,
>     "predicted": {
>       "tau": 1,
>       "regret_percent": 0
>     },
>     "random": {
>       "tau": 0,
>       "regret_percent": 1.9230769230769231
>     },
>     "widest_tp": {
>       "tau": 1,
>       "regret_percent": 0
>     }
>   },
>   "plans_simulated": 2
> }

# bad input: one line, status 2
$ moesim validate ranking.csv ranking.csv
! moesim: expected a file of rankings alone, found 2 files
? 2
$ moesim validate ranking.csv --max-error 5
! moesim: --max-error: rankings have scores, not errors
? 2
$ moesim validate ranking.csv --series nothing
! moesim: --series: no row is of a metric "nothing"
? 2
