import nemo_run as run
from nemo.collections import llm
from nemo.collections.llm.recipes.precision.mixed_precision import bf16_with_fp8_mixed

recipe = llm.llama31_8b.pretrain_recipe(name="l31", dir="/checkpoints", num_nodes=4, num_gpus_per_node=8)
recipe.data = run.Config(llm.MockDataModule, seq_length=8192, global_batch_size=512, micro_batch_size=1)
recipe.trainer.strategy.tensor_model_parallel_size = 2
recipe.trainer.strategy.pipeline_model_parallel_size = 1
recipe.trainer.strategy.context_parallel_size = 2
recipe.trainer.strategy.sequence_parallel = True
recipe.trainer.plugins = bf16_with_fp8_mixed()
run.run(recipe)
