deepspeed --num_gpus 8 fixed.py --deepspeed_config ds.json
