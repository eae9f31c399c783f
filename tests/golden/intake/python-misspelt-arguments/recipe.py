import nemo_run as run
from nemo.collections import llm
recipe = llm.llama3_8b.pretrain_recipe(name="x", dir="/x", num_node=4, num_gpus_per_node=8)
recipe.trainer.strategy.tensor_model_parallel_sizes = 4
recipe.data.micro_batch_size = 1
recipe.data.global_batch_size = 128
recipe.data.seq_length = 8192
run.run(recipe)
