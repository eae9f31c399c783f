NPROC_PER_NODE=8 xtuner train internlm2_chat_7b_full.py --deepspeed deepspeed_zero2 --seed 1
