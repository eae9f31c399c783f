import nemo_run as run
from nemo.collections import llm
recipe = llm.llama3_70b.pretrain_recipe(num_nodes=4)
