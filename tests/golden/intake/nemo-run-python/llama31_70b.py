import nemo_run as run
from nemo.collections import llm
from nemo.collections.llm.recipes.precision.mixed_precision import bf16_with_fp8_mixed


def configure_recipe(nodes: int = 8, gpus_per_node: int = 8):
    recipe = llm.llama31_70b.pretrain_recipe(
        dir="/checkpoints/llama31", name="llama31_70b", num_nodes=nodes, num_gpus_per_node=gpus_per_node,
    )
    recipe.trainer.strategy.tensor_model_parallel_size = 4
    recipe.trainer.strategy.pipeline_model_parallel_size = 4
    recipe.trainer.strategy.context_parallel_size = 2
    recipe.data.micro_batch_size = 1
    recipe.data.global_batch_size = 128
    recipe.trainer.plugins = run.Config(bf16_with_fp8_mixed)
    return recipe


def slurm_executor(nodes: int = 8, devices: int = 8):
    return run.SlurmExecutor(account="coreai", partition="batch", nodes=nodes, ntasks_per_node=devices,
                             gpus_per_node=devices, mem="0", exclusive=True)


if __name__ == "__main__":
    run.run(configure_recipe(), executor=slurm_executor(), name="llama31")
