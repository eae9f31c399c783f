from megatron.bridge.recipes.llama.llama3_8b import pretrain_config
from megatron.bridge.training.gpt_step import forward_step
from megatron.bridge.training.pretrain import pretrain

def main():
    cfg = pretrain_config(global_batch_size=256, micro_batch_size=2, seq_length=4096)
    cfg.model.tensor_model_parallel_size = 2
    cfg.model.pipeline_model_parallel_size = 1
    cfg.model.sequence_parallel = True
    cfg.mixed_precision = "bf16_with_fp8_current_scaling_mixed"
    cfg.train.train_iters = 100
    pretrain(config=cfg, forward_step_func=forward_step)

if __name__ == "__main__":
    main()
