from megatron.bridge.recipes.llama import llama3_70b_pretrain_config
from megatron.bridge.training.pretrain import pretrain
from megatron.bridge.training.gpt_step import forward_step
cfg = llama3_70b_pretrain_config(tensor_model_parallel_size=4, pipeline_model_parallel_size=4, virtual_pipeline_model_parallel_size=5, context_parallel_size=2, sequence_parallel=True, micro_batch_size=1, global_batch_size=128, seq_length=8192, train_iters=20)
cfg.model.cross_entropy_fusion_impl = "te"
pretrain(cfg, forward_step)
