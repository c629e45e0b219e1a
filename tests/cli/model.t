# moesim model: structure, counts and caches of a config.json. Figures: tests/golden/counts.csv.

$ moesim model kimi-k3
> model      kimi-k3, family kimi_k3
> structure  93 layers, hidden 7168, vocabulary 163840, context 1048576
> formats    experts fp4, attention bf16, the rest bf16
>
> layers  attention                       feed-forward
>      1  kda, 96 heads of 128            dense, width 33792
>     68  kda, 96 heads of 128            16 of 896 experts, width 3072, shared 6144, latent 3584
>     24  mla, 96 heads, latent 512 + 64  16 of 896 experts, width 3072, shared 6144, latent 3584
>
> parameters                                              exactly  rounded
> text model                                        2779484476000   2780 G
> active per token, both vocabulary tables counted   105364017760    105 G
> active, without the input embedding                104189612640    104 G
> active, without both tables                        103015207520    103 G
> vision                                                447358976  0.447 G
>
> weights as stored      parameters          bytes  rounded
> embedding              1174405120     2348810240  2.35 GB
> head                   1174405120     2348810240  2.35 GB
> attention             36190792800    72403670016  72.4 GB
> dense mlp               726663168     1453326336  1.45 GB
> routed experts      2722740830208  1446456066048  1.45 TB
> shared experts        12155092992    24310185984  24.3 GB
> router                  590955008     1182074880  1.18 GB
> latent projections     4727310336     9454620672  9.45 GB
> norms                     4021248        8042496  8.04 MB
> vision                  447358976      894717952   895 MB
> checkpoint          2779931834976  1560860324864  1.56 TB
> 497220 tensors; scales count as bytes, not as parameters
>
> cache of all layers
>   27648 B per token in bf16
>   13824 B per token in fp8
>   15744 B per token packed (latent fp8 with scales, rope bf16)
>   449372160 B per sequence of constant state (449 MB)

# DeepSeek-V3 caches 61 layers x (512 + 64) values in BF16
$ moesim model deepseek-v3.json --format csv
> figure,value
> layers,61
> hidden_size,7168
> vocab_size,129280
> max_context_tok,163840
> parameters,671026419200
> active_parameters,37552297472
> active_parameters_without_input_embedding,36625618432
> active_parameters_without_tables,35698939392
> mtp_parameters,11610068224
> mtp_parameters_on_disk,13463426304
> mtp_parameters_with_tables,13463426304
> mtp_layers_not_stored,0
> mtp_parameters_not_stored,0
> vision_parameters,0
> tensors,91991
> checkpoint_B,688574839360
> embedding_B,1853358080
> head_B,1853358080
> attention_B,11416465248
> dense_mlp_B,1189375488
> routed_experts_B,654068416512
> shared_experts_B,2554954752
> router_B,212920320
> latent_projections_B,0
> norms_B,1763328
> mtp_B,15424227552
> vision_B,0
> kv_bf16_B_per_token,70272
> kv_fp8_B_per_token,35136
> kv_packed_B_per_token,40016
> window_bf16_B_per_sequence,0
> state_B_per_sequence,0

$ moesim model qwen3-235b-a22b -f json
> {
>   "moesim": "model",
>   "version": 1,
>   "name": "qwen3-235b-a22b",
>   "family": "qwen3_moe",
>   "digest": "3c3008328d5f4e68",
>   "expert_format": "bf16",
>   "attention_format": "bf16",
>   "dtype": "bf16",
>   "layer_kinds": [
>     {"layers": 94, "attention": "gqa", "heads": 64, "kv_heads": 4, "head_dim": 128, "window_tok": 0, "compressed_tok": 0, "index_top_k": 0, "experts": 128, "top_k": 8, "width": 1536, "shared_width": 0, "latent_width": 0}
>   ],
>   "layers": 94,
>   "hidden_size": 4096,
>   "vocab_size": 151936,
>   "max_context_tok": 40960,
>   "parameters": 235093634560,
>   "active_parameters": 22190763520,
>   "active_parameters_without_input_embedding": 21568433664,
>   "active_parameters_without_tables": 20946103808,
>   "mtp_parameters": 0,
>   "mtp_parameters_on_disk": 0,
>   "mtp_parameters_with_tables": 0,
>   "mtp_layers_not_stored": 0,
>   "mtp_parameters_not_stored": 0,
>   "vision_parameters": 0,
>   "tensors": 36945,
>   "checkpoint_B": 470187269120,
>   "embedding_B": 1244659712,
>   "head_B": 1244659712,
>   "attention_B": 13405043712,
>   "dense_mlp_B": 0,
>   "routed_experts_B": 454192791552,
>   "shared_experts_B": 0,
>   "router_B": 98566144,
>   "latent_projections_B": 0,
>   "norms_B": 1548288,
>   "mtp_B": 0,
>   "vision_B": 0,
>   "kv_bf16_B_per_token": 192512,
>   "kv_fp8_B_per_token": 96256,
>   "kv_packed_B_per_token": 0,
>   "window_bf16_B_per_sequence": 0,
>   "state_B_per_sequence": 0,
>   "notes": []
> }

# a folder stands for the config.json in it
$ mkdir hub && cp $ROOT/scenarios/models/mixtral-8x7b.json hub/config.json && moesim model hub | head -2
> model      hub, family mixtral
> structure  32 layers, hidden 4096, vocabulary 32000, context 32768

# --- what is not understood is named, and can be left out or filled in by the user
$ moesim model $ROOT/tests/bad/model-unknown-field.json
! moesim: $ROOT/tests/bad/model-unknown-field.json:15:30: sparse_attention_window: unknown field of qwen3_moe, which may change the cost; go on without it by --assume sparse_attention_window=ignored
? 2

$ moesim model $ROOT/tests/bad/model-unknown-field.json --assume sparse_attention_window=ignored,head_dim=16 | head -6
> model      model-unknown-field, family qwen3_moe
> structure  4 layers, hidden 64, vocabulary 256, context 1024
> formats    experts bf16, attention bf16, the rest bf16
> notes      head_dim: taken as 16 (--assume)
>            sparse_attention_window: left out (--assume)
>

$ moesim model $ROOT/tests/bad/model-missing-field.json --assume num_experts_per_tok=none
! moesim: --assume num_experts_per_tok=none: expected a whole number, found "none"
? 2

$ moesim model kimi-k3 --assume num_experts
! moesim: --assume: expected FIELD=VALUE, found "num_experts"
? 2

# --- bad input
$ moesim model
! moesim: model: missing operand, expected MODEL
? 2

$ moesim model kimi-k9
! moesim: kimi-k9: no such file here or in the shipped data, did you mean "kimi-k2"?
? 2

$ moesim model .
! moesim: .: is a directory without a config.json
? 2

$ moesim model $ROOT/tests/bad/model-truncated.json
! moesim: $ROOT/tests/bad/model-truncated.json:11:23: unexpected end of file, expected a key in double quotes after ','
? 2

$ moesim model $ROOT/tests/bad/model-not-utf8.json
! moesim: $ROOT/tests/bad/model-not-utf8.json:2:23: byte 0xff is not UTF-8
? 2

# --- a model_type that nobody taught: read as the family that understands every field, and said so
$ moesim model $ROOT/tests/bad/model-unknown-architecture.json | head -4
> model      model-unknown-architecture, family qwen3_moe
> structure  4 layers, hidden 64, vocabulary 256, context 1024
> formats    experts bf16, attention bf16, the rest bf16
> notes      model_type "qwen9_moe" is not known: read as qwen3_moe; every field is understood by qwen3_moe, qwen2_moe, glm4_moe, dots1, bailing_moe, bailing_moe_v2

$ moesim model $ROOT/tests/bad/model-no-text-config.json
! moesim: $ROOT/tests/bad/model-no-text-config.json:1:1: missing "text_config"
? 2

$ moesim model $ROOT/tests/bad/model-heads-not-multiple.json
! moesim: $ROOT/tests/bad/model-heads-not-multiple.json:8:26: num_attention_heads: expected a multiple of num_key_value_heads (3), found 8
? 2

$ moesim model $ROOT/tests/bad/model-deep.json
! moesim: $ROOT/tests/bad/model-deep.json:1:79: nesting deeper than 64 levels
? 2

# a checkpoint that says elsewhere how it is quantised
$ echo '{}' > hub/hf_quant_config.json && moesim model hub
! moesim: hub/hf_quant_config.json:1:1: missing "quantization"
? 2

# draft layers that a config declares and checkpoints lack
$ sed 's/"vocab_size"/"num_mtp_modules": 3, &/' $ROOT/scenarios/models/minimax-m2.5.json > drafts.json && moesim model drafts.json | grep draft
> model      drafts, family minimax_m2
> the config declares 3 draft layers (11062807296 parameters if built as its other layers), which published checkpoints lack
