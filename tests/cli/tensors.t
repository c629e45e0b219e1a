# moesim model --tensors and --checkpoint: the inventory of a model, and checkpoints against it.

# two layers, one head for keys and values, two experts
$ printf '{"model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 1, "intermediate_size": 128, "num_local_experts": 2, "num_experts_per_tok": 1, "vocab_size": 256, "max_position_embeddings": 1024, "hidden_act": "silu", "torch_dtype": "bfloat16", "tie_word_embeddings": false}' >small.json; moesim model small.json --tensors
> tensor                                               layer  type  shape   bytes  module          cut
> model.embed_tokens.weight                                -  BF16  256x64  32768  embedding       vocab, axis 0
> model.norm.weight                                        -  BF16  64        128  norms           replicated
> lm_head.weight                                           -  BF16  256x64  32768  head            vocab, axis 0
> model.layers.0.input_layernorm.weight                    0  BF16  64        128  norms           replicated
> model.layers.0.post_attention_layernorm.weight           0  BF16  64        128  norms           replicated
> model.layers.0.self_attn.q_proj.weight                   0  BF16  64x64    8192  attention       column, axis 0 by 16
> model.layers.0.self_attn.k_proj.weight                   0  BF16  16x64    2048  attention       kv, axis 0 by 16
> model.layers.0.self_attn.v_proj.weight                   0  BF16  16x64    2048  attention       kv, axis 0 by 16
> model.layers.0.self_attn.o_proj.weight                   0  BF16  64x64    8192  attention       row, axis 1 by 16
> model.layers.0.block_sparse_moe.gate.weight              0  BF16  2x64      256  router          replicated
> model.layers.0.block_sparse_moe.experts.0.w1.weight      0  BF16  128x64  16384  routed experts  expert column, axis 0
> model.layers.0.block_sparse_moe.experts.1.w1.weight      0  BF16  128x64  16384  routed experts  expert column, axis 0
> model.layers.0.block_sparse_moe.experts.0.w2.weight      0  BF16  64x128  16384  routed experts  expert row, axis 1
> model.layers.0.block_sparse_moe.experts.1.w2.weight      0  BF16  64x128  16384  routed experts  expert row, axis 1
> model.layers.0.block_sparse_moe.experts.0.w3.weight      0  BF16  128x64  16384  routed experts  expert column, axis 0
> model.layers.0.block_sparse_moe.experts.1.w3.weight      0  BF16  128x64  16384  routed experts  expert column, axis 0
> model.layers.1.input_layernorm.weight                    1  BF16  64        128  norms           replicated
> model.layers.1.post_attention_layernorm.weight           1  BF16  64        128  norms           replicated
> model.layers.1.self_attn.q_proj.weight                   1  BF16  64x64    8192  attention       column, axis 0 by 16
> model.layers.1.self_attn.k_proj.weight                   1  BF16  16x64    2048  attention       kv, axis 0 by 16
> model.layers.1.self_attn.v_proj.weight                   1  BF16  16x64    2048  attention       kv, axis 0 by 16
> model.layers.1.self_attn.o_proj.weight                   1  BF16  64x64    8192  attention       row, axis 1 by 16
> model.layers.1.block_sparse_moe.gate.weight              1  BF16  2x64      256  router          replicated
> model.layers.1.block_sparse_moe.experts.0.w1.weight      1  BF16  128x64  16384  routed experts  expert column, axis 0
> model.layers.1.block_sparse_moe.experts.1.w1.weight      1  BF16  128x64  16384  routed experts  expert column, axis 0
> model.layers.1.block_sparse_moe.experts.0.w2.weight      1  BF16  64x128  16384  routed experts  expert row, axis 1
> model.layers.1.block_sparse_moe.experts.1.w2.weight      1  BF16  64x128  16384  routed experts  expert row, axis 1
> model.layers.1.block_sparse_moe.experts.0.w3.weight      1  BF16  128x64  16384  routed experts  expert column, axis 0
> model.layers.1.block_sparse_moe.experts.1.w3.weight      1  BF16  128x64  16384  routed experts  expert column, axis 0

$ moesim model small.json --tensors -f csv | head -n 3
> tensor,layer,member,type,shape,bytes,parameters,scale,module,cut,axis,unit,fused_experts,interleaved,parts
> model.embed_tokens.weight,,,BF16,256x64,32768,16384,no,embedding,vocab,0,1,0,no,
> model.norm.weight,,,BF16,64,128,64,no,norms,replicated,,,0,no,

$ moesim model small.json --tensors -f json | head -n 14
> {
>   "moesim": "tensors",
>   "version": 1,
>   "model": "small",
>   "family": "mixtral",
>   "digest": "8108281809edd737",
>   "tensors": 29,
>   "checkpoint_B": 304256,
>   "list": [
>     {"name": "model.embed_tokens.weight", "type": "BF16", "shape": [256, 64], "bytes": 32768, "parameters": 16384, "scale": false, "module": "embedding", "cut": {"rule": "vocab", "axis": 0, "unit": 1}},
>     {"name": "model.norm.weight", "type": "BF16", "shape": [64], "bytes": 128, "parameters": 64, "scale": false, "module": "norms", "cut": {"rule": "replicated"}},
>     {"name": "lm_head.weight", "type": "BF16", "shape": [256, 64], "bytes": 32768, "parameters": 16384, "scale": false, "module": "head", "cut": {"rule": "vocab", "axis": 0, "unit": 1}},
>     {"name": "model.layers.0.input_layernorm.weight", "layer": 0, "type": "BF16", "shape": [64], "bytes": 128, "parameters": 64, "scale": false, "module": "norms", "cut": {"rule": "replicated"}},
>     {"name": "model.layers.0.post_attention_layernorm.weight", "layer": 0, "type": "BF16", "shape": [64], "bytes": 128, "parameters": 64, "scale": false, "module": "norms", "cut": {"rule": "replicated"}},

# fused parts, scales and packed experts
$ moesim model qwen3.5-397b-a17b --tensors | grep -F -e layers.0.linear_attn -e layers.3.mlp -e 'tensor '
> tensor                                                             layer  type  shape                bytes  module          cut
> model.language_model.layers.0.linear_attn.in_proj_qkv.weight           0  BF16  12288x4096       100663296  attention       column, axis 0, parts 2048|2048|8192 by 128|128|512
> model.language_model.layers.0.linear_attn.in_proj_z.weight             0  BF16  8192x4096         67108864  attention       column, axis 0 by 512
> model.language_model.layers.0.linear_attn.in_proj_b.weight             0  BF16  64x4096             524288  attention       column, axis 0 by 4
> model.language_model.layers.0.linear_attn.in_proj_a.weight             0  BF16  64x4096             524288  attention       column, axis 0 by 4
> model.language_model.layers.0.linear_attn.conv1d.weight                0  BF16  12288x1x4            98304  attention       column, axis 0, parts 2048|2048|8192 by 128|128|512
> model.language_model.layers.0.linear_attn.dt_bias                      0  BF16  64                     128  attention       column, axis 0 by 4
> model.language_model.layers.0.linear_attn.A_log                        0  F32   64                     256  attention       column, axis 0 by 4
> model.language_model.layers.0.linear_attn.norm.weight                  0  F32   128                    512  attention       replicated
> model.language_model.layers.0.linear_attn.out_proj.weight              0  BF16  4096x8192         67108864  attention       row, axis 1 by 512
> model.language_model.layers.3.mlp.gate.weight                          3  BF16  512x4096           4194304  router          replicated
> model.language_model.layers.3.mlp.experts.gate_up_proj                 3  BF16  512x2048x4096   8589934592  routed experts  expert column, axis 1, parts 1024|1024 by 1|1, 512 experts on axis 0
> model.language_model.layers.3.mlp.experts.down_proj                    3  BF16  512x4096x1024   4294967296  routed experts  expert row, axis 2, 512 experts on axis 0
> model.language_model.layers.3.mlp.shared_expert.gate_proj.weight       3  BF16  1024x4096          8388608  shared experts  column, axis 0
> model.language_model.layers.3.mlp.shared_expert.up_proj.weight         3  BF16  1024x4096          8388608  shared experts  column, axis 0
> model.language_model.layers.3.mlp.shared_expert.down_proj.weight       3  BF16  4096x1024          8388608  shared experts  row, axis 1
> model.language_model.layers.3.mlp.shared_expert_gate.weight            3  BF16  1x4096                8192  shared experts  replicated

$ moesim model deepseek-v3 --tensors -f csv | grep -c .
> 91992

# --- an index made from the listing fits it
$ moesim model small.json --tensors -f csv | awk -F, 'NR > 1 { bytes += $6; map = map (NR > 2 ? ", " : "") "\"" $1 "\": \"1.safetensors\"" } END { print "{\"metadata\": {\"total_size\": " bytes "}, \"weight_map\": {" map "}}" }' >model.safetensors.index.json; moesim model small.json --checkpoint model.safetensors.index.json
> model       small, family mixtral, 29 tensors
> checkpoint  model.safetensors.index.json, index model.safetensors.index.json, 1 file, 29 tensors
> notes       none of the files is here: names and total_size are checked, types and shapes are not
>
> 0 findings: 29 of 29 tensors are there, types and shapes of 0 were compared

$ mkdir other; sed 's/experts\.1\.w3/experts.2.w3/g' model.safetensors.index.json >other/model.safetensors.index.json; moesim model small.json --checkpoint other
> model       small, family mixtral, 29 tensors
> checkpoint  other, index model.safetensors.index.json, 1 file, 29 tensors
> notes       missing tensors: 2 of routed experts
>             none of the files is here: names and total_size are checked, types and shapes are not
>
> finding         count  file or tensor                                       found
> missing tensor      2  model.layers.0.block_sparse_moe.experts.1.w3.weight  expected BF16 [128, 64]
>                        model.layers.1.block_sparse_moe.experts.1.w3.weight  expected BF16 [128, 64]
> extra tensor        2  model.layers.0.block_sparse_moe.experts.2.w3.weight  in 1.safetensors
>                        model.layers.1.block_sparse_moe.experts.2.w3.weight  in 1.safetensors
>
> 4 findings: 27 of 29 tensors are there, types and shapes of 0 were compared
? 1

$ moesim model small.json --checkpoint other -f csv
> finding,count,subject,found
> missing tensor,2,model.layers.0.block_sparse_moe.experts.1.w3.weight,"expected BF16 [128, 64]"
> missing tensor,2,model.layers.1.block_sparse_moe.experts.1.w3.weight,"expected BF16 [128, 64]"
> extra tensor,2,model.layers.0.block_sparse_moe.experts.2.w3.weight,in 1.safetensors
> extra tensor,2,model.layers.1.block_sparse_moe.experts.2.w3.weight,in 1.safetensors
? 1

$ moesim model small.json --checkpoint other -f json
> {
>   "moesim": "checkpoint",
>   "version": 1,
>   "model": "small",
>   "family": "mixtral",
>   "checkpoint": "other",
>   "index": "model.safetensors.index.json",
>   "headers": false,
>   "files": 1,
>   "tensors": 29,
>   "model_tensors": 29,
>   "found": 27,
>   "compared": 0,
>   "findings": 4,
>   "unusable_files": 0,
>   "counts": {
>     "missing tensor": 2,
>     "extra tensor": 2
>   },
>   "shown": [
>     {"finding": "missing tensor", "subject": "model.layers.0.block_sparse_moe.experts.1.w3.weight", "found": "expected BF16 [128, 64]"},
>     {"finding": "missing tensor", "subject": "model.layers.1.block_sparse_moe.experts.1.w3.weight", "found": "expected BF16 [128, 64]"},
>     {"finding": "extra tensor", "subject": "model.layers.0.block_sparse_moe.experts.2.w3.weight", "found": "in 1.safetensors"},
>     {"finding": "extra tensor", "subject": "model.layers.1.block_sparse_moe.experts.2.w3.weight", "found": "in 1.safetensors"}
>   ],
>   "notes": [
>     "missing tensors: 2 of routed experts",
>     "none of the files is here: names and total_size are checked, types and shapes are not"
>   ]
> }
? 1

# --- a family that comes with fused experts and with one tensor per expert: the names decide
$ mkdir fused separate; for layout in fused separate; do moesim model qwen3.5-397b-a17b --assume expert_layout=$layout --tensors -f csv | awk -F, 'NR > 1 { bytes += $6; printf "%s\"%s\": \"1.safetensors\"", (NR > 2 ? ", " : "{\"weight_map\": {"), $1 } END { printf "}, \"metadata\": {\"total_size\": %.0f}}", bytes }' >$layout/model.safetensors.index.json; moesim model qwen3.5-397b-a17b --checkpoint $layout; done
> model       qwen3.5-397b-a17b, family qwen3_5_moe, 1390 tensors
> checkpoint  fused, index model.safetensors.index.json, 1 file, 1390 tensors
> notes       none of the files is here: names and total_size are checked, types and shapes are not
>
> 0 findings: 1390 of 1390 tensors are there, types and shapes of 0 were compared
> model       qwen3.5-397b-a17b, family qwen3_5_moe, 94964 tensors
> checkpoint  separate, index model.safetensors.index.json, 1 file, 94964 tensors
> notes       expert_layout=separate, as the names and shapes of the checkpoint say
>             none of the files is here: names and total_size are checked, types and shapes are not
>
> 0 findings: 94964 of 94964 tensors are there, types and shapes of 0 were compared

# --- every file that is broken on purpose: its status and what is wrong, apart from what the model misses in it
$ for file in "$ROOT"/tests/bad/st-*.safetensors; do moesim model small.json --checkpoint "$file" -f csv >out; echo "$? $(grep -v -e '^missing' -e '^extra' -e '^finding,' out)"; done
> 2 bad header,1,st-control.safetensors,"control character in the name ""a?[31m"""
> 2 bad header,1,st-deep.safetensors,a: shape: expected a whole number of at least 0
> 2 bad header,1,st-duplicate-key.safetensors,"duplicate key ""a"""
> 1 hole between tensors,1,a,1 bytes between the header and it in st-hole.safetensors
> 2 not a safetensors file,1,st-html.safetensors,is a page of HTML
> 2 header too large,1,st-length-2-63.safetensors,"claims a header of 9223372036854775808 bytes, at most 100000000 are read"
> 2 truncated file,1,st-length-beyond.safetensors,"10 bytes, its header alone ends at 1008"
> 2 not a safetensors file,1,st-lfs-pointer.safetensors,is a git-lfs pointer; the data itself was not downloaded
> 2 bad header,1,st-metadata-number.safetensors,__metadata__: a: expected a string
> 2 bad header,1,st-no-brace.safetensors,does not begin with '{'
> 2 bad header,1,st-not-utf8.safetensors,byte 3 of the header: byte 0xff is not UTF-8
> 2 bad header,1,st-odd-nibble.safetensors,a: shape: 12 bits are not whole bytes
> 2 bad header,1,st-overflow.safetensors,a: shape: more than 2^64 bits
> 1 overlapping tensors,1,b,begins 2 bytes before the end of a in st-overlap.safetensors
> 1 bytes after the last tensor,1,st-trailing.safetensors,"71 bytes, its tensors end at 65"
> 1 truncated file,1,st-truncated.safetensors,"73 bytes, its tensors end at 127"
> 2 bad header,1,st-unknown-type.safetensors,"a: dtype: unknown type ""BF17"""
> 1 wrong size for its shape,1,a,"F16 [3] takes 6 bytes, its range has 4"

$ for file in "$ROOT"/tests/bad/st-index-*.json; do moesim model small.json --checkpoint "$file"; echo $?; done
> 2
> 2
> 2
> 2
! moesim: $ROOT/tests/bad/st-index-duplicate.json: weight_map: duplicate key "a"
! moesim: $ROOT/tests/bad/st-index-folder.json: a: file "../../secret.safetensors", expected a name without a folder
! moesim: $ROOT/tests/bad/st-index-no-map.json: missing "weight_map"
! moesim: $ROOT/tests/bad/st-index-total.json: metadata: total_size: expected a number of bytes, found -4

$ moesim model small.json --checkpoint nothing
! moesim: nothing: no such file or folder
? 2

$ moesim model small.json --checkpoint small.json
! moesim: small.json: missing "weight_map"
? 2

$ mkfifo pipe.safetensors; moesim model small.json --checkpoint pipe.safetensors -f csv | head -n 2
> finding,count,subject,found
> unreadable file,1,pipe.safetensors,is not a regular file

$ moesim model small.json --checkpoint other --tensors
! moesim: --tensors and --checkpoint: expected one of them
? 2
