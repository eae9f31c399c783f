automodel finetune llm -c c.yaml --nproc-per-node=8 --distributed.tp_size 2
