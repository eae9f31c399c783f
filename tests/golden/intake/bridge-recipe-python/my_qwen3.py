import torch
from megatron.bridge import AutoBridge
from megatron.bridge.training.config import (
    CheckpointConfig, ConfigContainer, DistributedDataParallelConfig, GPTDatasetConfig,
    LoggerConfig, RNGConfig, TokenizerConfig, TrainingConfig,
)
from megatron.bridge.training.mixed_precision import bf16_mixed
from megatron.bridge.training.pretrain import pretrain
from megatron.bridge.training.gpt_step import forward_step


def pretrain_config(dir=None, name="default", tensor_parallelism: int = 4, pipeline_parallelism: int = 2,
                    train_iters: int = 300000, global_batch_size: int = 32, micro_batch_size: int = 2,
                    seq_length: int = 4096) -> ConfigContainer:
    bridge = AutoBridge.from_hf_pretrained("Qwen/Qwen3-30B-A3B")
    model_cfg = bridge.to_megatron_provider(load_weights=False)
    model_cfg.tensor_model_parallel_size = tensor_parallelism
    model_cfg.pipeline_model_parallel_size = pipeline_parallelism
    model_cfg.expert_model_parallel_size = 4
    model_cfg.sequence_parallel = True
    model_cfg.seq_length = seq_length
    return ConfigContainer(
        model=model_cfg,
        train=TrainingConfig(train_iters=train_iters, global_batch_size=global_batch_size,
                             micro_batch_size=micro_batch_size),
        ddp=DistributedDataParallelConfig(use_distributed_optimizer=True, overlap_grad_reduce=True),
        mixed_precision=bf16_mixed(),
    )


if __name__ == "__main__":
    pretrain(config=pretrain_config(), forward_step_func=forward_step)
