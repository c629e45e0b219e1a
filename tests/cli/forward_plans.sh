#!/bin/bash
# forward_plans.sh MODEL PLAN...: runs both schedules of every plan with the model's seeded weights, for 16 texts over
# all ranks: a prompt of 8 tokens, and decode rounds behind 19 cached tokens. Prints how many plans there were, and
# whether the most probable tokens are those of the first plan and all logits within 1e-3 of its.
set -eu
model=$1
shift
first=$1

field() { sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "$plan" | head -n 1; }

for plan in "$@"; do
    texts=$((16 / $(field dp) / $(field replicas) / $(field micro_batches)))
    for phase in prefill decode; do
        new=8 cached=8
        [ $phase = prefill ] || { new=1 cached=20; }
        moesim simulate "$plan" --phase $phase --schedule schedule.json >/dev/null
        moesim-run run schedule.json --tokens $((texts * new)) --sequences $texts --kv-tokens $((texts * cached)) \
            --qk-pairs $((texts * cached)) --compute model --model "$model" --plan "$plan" --logits $phase.csv >/dev/null
        [ "$plan" != "$first" ] || cp $phase.csv $phase-first.csv
        awk -F, 'FNR == 1 { next }
            FNR == NR { token[$1, $2] = $3; for (i = 4; i <= NF; i++) logit[$1, $2, i] = $i; next }
            ($1, $2) in token {
                rows++
                differ += $3 != token[$1, $2]
                for (i = 4; i <= NF; i++) {
                    apart = $i - logit[$1, $2, i]
                    if (apart < 0) apart = -apart
                    far += apart > 1e-3
                }
            }
            END { print rows + 0, differ + 0, far + 0 }' $phase-first.csv $phase.csv
    done
done | awk -v plans=$# '{ none += $1 == 0; differ += $2; far += $3 }
    END { print plans " plans, without a row to compare " none ", tokens differ " differ ", logits differ " far }'
