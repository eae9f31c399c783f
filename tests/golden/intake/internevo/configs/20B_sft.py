JOB_NAME = "20b_train"
model_type = "INTERNLM2_PUBLIC"
VOCAB_SIZE = 92544
SEQ_LEN = 4096
HIDDEN_SIZE = 6144
NUM_ATTENTION_HEAD = 48
NUM_KV_ATTENTION_HEAD = 8
MLP_RATIO = 2.6667
NUM_LAYER = 48
MODEL_ONLY_FOLDER = "local:llm_ckpts/xxxx"
SAVE_CKPT_FOLDER = "local:llm_ckpts"
ckpt = dict(enable_save_ckpt=False, save_ckpt_folder=SAVE_CKPT_FOLDER, auto_resume=False, checkpoint_every=50, async_upload=True)
TRAIN_FOLDER = None
data = dict(
    seq_len=SEQ_LEN,
    # micro_num means the number of micro_batch contained in one gradient update
    micro_num=8,
    micro_bsz=1,
    valid_micro_num=4,
    valid_every=0,
    pack_sample_into_one=False,
    total_steps=20,
    skip_batches="",
    min_length=50,
    train_folder=TRAIN_FOLDER,
    empty_cache_and_diag_interval=200,
    diag_outlier_ratio=1.1,
)
grad_scaler = dict(
    fp16=dict(initial_scale=2**16, min_scale=1, growth_interval=1000),
    growth_factor=2, backoff_factor=0.5, max_scale=2**24, hysteresis=2,
)
hybrid_zero_optimizer = dict(
    overlap_sync_grad=True,
    overlap_sync_param=False,
    reduce_bucket_size=512 * 1024 * 1024,
    clip_grad_norm=1.0,
)
loss = dict(label_smoothing=0)
adam = dict(lr=1e-4, adam_beta1=0.9, adam_beta2=0.95, adam_beta2_c=0, adam_eps=1e-8, weight_decay=0.01)
lr_scheduler = dict(total_steps=data["total_steps"], init_steps=0, warmup_ratio=0.01, eta_min=1e-5, last_epoch=-1)
beta2_scheduler = dict(init_beta2=adam["adam_beta2"], c=adam["adam_beta2_c"], cur_iter=-1)
use_fp32_norm = False
model = dict(
    checkpoint=True,
    num_chunks=1,
    num_attention_heads=NUM_ATTENTION_HEAD,
    embed_split_hidden=True,
    vocab_size=VOCAB_SIZE,
    embed_grad_scale=1,
    parallel_output=True,
    hidden_size=HIDDEN_SIZE,
    num_layers=NUM_LAYER,
    no_bias=True,
    mlp_ratio=MLP_RATIO,
    apply_post_layer_norm=False,
    dtype="torch.bfloat16",
    norm_type="rmsnorm",
    layer_norm_epsilon=1e-5,
    num_kv_attention_heads=NUM_KV_ATTENTION_HEAD,
    use_flash_attn=True,
    qk_interleaved=False,
)
parallel = dict(
    zero1=dict(size=-1),
    tensor=dict(size=4, mode="msp"),
    pipeline=dict(size=2, interleaved_overlap=True),
    weight=dict(size=1, overlap=True),
)
cudnn_deterministic = False
cudnn_benchmark = False
monitor = dict(alert=dict(enable_feishu_alert=False, feishu_alert_address=None, light_monitor_address=None, alert_file_path="x"), tensorboard=dict(queue_max_length=10))
