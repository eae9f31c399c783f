JOB_NAME = "7b_train"
DO_ALERT = False
SEQ_LEN = 2048
HIDDEN_SIZE = 4096
NUM_ATTENTION_HEAD = 32
MLP_RATIO = 8 / 3
NUM_LAYER = 32
VOCAB_SIZE = 103168
data = dict(seq_len=SEQ_LEN, micro_num=4, micro_bsz=2, valid_micro_num=4, valid_every=50, pack_sample_into_one=False, total_steps=50000, skip_batches="", rampup_batch_size="", min_length=50)
grad_scaler = dict(fp16=dict(initial_scale=2**16))
hybrid_zero_optimizer = dict(overlap_sync_grad=True, overlap_sync_param=True, reduce_bucket_size=512 * 1024 * 1024, clip_grad_norm=1.0)
model = dict(checkpoint=False, num_attention_heads=NUM_ATTENTION_HEAD, embed_split_hidden=True, vocab_size=VOCAB_SIZE, embed_grad_scale=1, parallel_output=True, hidden_size=HIDDEN_SIZE, num_layers=NUM_LAYER, mlp_ratio=MLP_RATIO, apply_post_layer_norm=False, dtype="torch.bfloat16", norm_type="rmsnorm", layer_norm_epsilon=1e-5, use_flash_attn=True)
parallel = dict(zero1=dict(size=8, fsdp=False), tensor=dict(size=1, mode="mtp"), pipeline=dict(size=1, interleaved_overlap=True), weight=dict(size=1, overlap=True, memory_pool=True))
