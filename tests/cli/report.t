# rank --save, --force, --pareto and --svg: folders that are whole, and pictures.

# --- a saved folder holds the inputs, the plans, the report and the commands
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --top 2 --save plans | grep -c '^best'
> 1

$ ls plans
> calibration.json
> plan-001.json
> plan-002.json
> qwen3-30b-a3b.json
> report.csv
> report.html
> report.json
> reproduce.sh
> saved.json
> scenario.json
> topology.json

# each plan carries the digests of its two schedules, and comes out again, wherever the folder is moved
$ sed -n '/"result"/,$p' plans/plan-001.json | grep -oE '"[a-z_]+_digest": "[0-9a-f]{16}"' | cut -d'"' -f2 | paste -sd' '
> prefill_schedule_digest decode_schedule_digest timelines_digest

$ mkdir away; mv plans away/moved; moesim simulate away/moved/plan-001.json | tail -n 1
> reproduced: yes

# a changed digest of a schedule is noticed
$ sed -E 's/("decode_schedule_digest": ")[0-9a-f]/\1x/' away/moved/plan-002.json >away/moved/p.json; moesim simulate away/moved/p.json | tail -n 1; rm away/moved/p.json
> reproduced: no
! moesim: the saved prediction was not reproduced

# --- the script repeats every prediction, and holds the command line word by word
$ sh away/moved/reproduce.sh | grep reproduced
> reproduced: yes
> reproduced: yes

$ moesim rank --topo 'switch:4,450GB/s' --model qwen3-30b-a3b.json --concurrency 16 --top 1 --save "it's \$(here); & <there>" | grep -c '^best'; grep exec "it's \$(here); & <there>/reproduce.sh"
> 1
>     exec moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --top 1 --save 'it'\''s $(here); & <there>'

$ cp "it's \$(here); & <there>/report.json" before.json; rm -r it*; cp -r away/moved script; (moesim rank --topo 'switch:4,450GB/s' --model qwen3-30b-a3b.json --concurrency 16 --top 1 --save again; mkdir elsewhere; mv again elsewhere; sh elsewhere/again/reproduce.sh rank) >/dev/null; cmp again/report.json before.json

# --- the page: whole, alone, and with the figures of the table
$ grep -c '<svg' away/moved/report.html; grep -cE '<script|<img|<link|href=|src=|https:' away/moved/report.html
> 3
> 0
? 1

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --top 2 | sed -nE 's/^([12])  .* replica +([0-9]+) .*/\1 \2 tok\/s\/GPU/p' | while read -r plan figure; do grep -A 1 "<title>#$plan " away/moved/report.html | grep -qF "$figure" && echo the picture has it; done
> the picture has it
> the picture has it

# all plans that were simulated are in the table for programs and in the picture: 4 (the others are pruned by their
# bounds), and one more point for each on the front
$ tail -n +2 away/moved/report.csv | wc -l; sed -n '/<figure>/,/<\/figure>/p' away/moved/report.html | grep -c '<circle class="k0"'
> 4
> 4

# the picture and the page are well-formed XML; where xmllint is missing, test_svg and test_html alone say so
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --pareto --svg front.svg >front.txt; ! command -v xmllint >/dev/null || xmllint --noout front.svg away/moved/report.html

# a hostile name of a model is text in the page
$ cp $ROOT/scenarios/models/qwen3-30b-a3b.json '<script>alert(1)<'; moesim rank --topo switch:4,450GB/s --model '<script>alert(1)<' --concurrency 16 --top 1 --save hostile >/dev/null; grep -c '<script' hostile/report.html; grep -om 1 '<h1>[^/]*' hostile/report.html
> 0
> <h1>&lt;script&gt;alert(1)&lt; on switch:4,450GB

# --- folders that are not empty
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --save away/moved
! moesim: away/moved: the folder is not empty, expected a new or an empty one; --force replaces what moesim saved there
? 2

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --top 1 --save away/moved --force | grep -c '^best'; ls away away/moved
> 1
> away:
> moved
>
> away/moved:
> calibration.json
> plan-001.json
> qwen3-30b-a3b.json
> report.csv
> report.html
> report.json
> reproduce.sh
> saved.json
> scenario.json
> topology.json

# what moesim did not write, or did not write so, stays: saved.json lists names, sizes and digests
$ echo mine >away/moved/notes.txt; moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --save away/moved --force
! moesim: away/moved/notes.txt: moesim did not write this file, it is not replaced
? 2

$ rm away/moved/notes.txt; echo >>away/moved/plan-001.json; moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --save away/moved --force
! moesim: away/moved/plan-001.json: was changed since moesim wrote it, it is not replaced
? 2

$ rm away/moved/saved.json; moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --save away/moved --force
! moesim: away/moved: has no list of what moesim wrote (saved.json), nothing is replaced
? 2

$ ls away/moved | wc -l; moesim rank --topo nvl72.json --force
! moesim: --force: expected --save, whose folder it replaces
> 9
? 2

# --- a run that is cut short while it saves leaves nothing, and what was there before stays
$ env --default-signal=INT moesim rank --topo switch:8,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --top 200 --save cut >/dev/null 2>cut.txt & until [ -e cut.tmp0/plan-001.json ] || ! kill -0 $!; do :; done; kill -INT $!; wait $!; echo $?; cat cut.txt; ls -d cut*
> 130
> moesim: interrupted: nothing was saved
> cut.txt

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --top 1 --save kept >/dev/null; ls kept >kept.txt; moesim rank --topo switch:8,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --top 200 --save kept --force >/dev/null 2>cut.txt & until [ -e kept.tmp0/plan-001.json ] || ! kill -0 $!; do :; done; kill -TERM $!; wait $!; echo $?; cat cut.txt; ls kept | cmp - kept.txt; ls -d kept*
> 143
> moesim: interrupted: nothing was saved
> kept
> kept.txt

# --- the front: a plot of 70 x 20 characters in 80 columns with its frame, and the table of its plans
$ sed -n '/^tok\/s\/GPU$/,/^ *tok\/s\/user; /p' front.txt >plot.txt; wc -l <plot.txt; awk 'length > 80' plot.txt; grep -cF '*' plot.txt; tail -n 1 plot.txt
> 24
> 2
>           tok/s/user; . plans, * Pareto front: no plan is better in both

$ moesim rank --topo nvl72.json --svg x.svg
! moesim: --svg: expected --pareto, whose picture it is
? 2

# the same plans in the table, for programs and in the picture
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --pareto --format csv | tail -n +2 | cut -d, -f1 >front.csv; moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --format json | sed -n '/"pareto_front"/,/\]/p' | sed -n 's/.*"rank": \([0-9]*\),/\1/p' | cmp - front.csv; sed '1,/^ *tok\/s\/user; /d' front.txt | sed -n 's/^ *\([0-9][0-9]*\) .*/\1/p' | cmp - front.csv; sed -n 's/.*<circle class="k1".*<title>#\([0-9]*\) .*/\1/p' front.svg | cmp - front.csv

# a device or a full disk: nothing of the picture is kept
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --pareto --svg /dev/full >/dev/null
! moesim: /dev/full: cannot be written: no space left
? 2
