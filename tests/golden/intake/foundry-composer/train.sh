cd llm-foundry/scripts
composer train/train.py mpt-30b.yaml precision=amp_fp8 device_train_microbatch_size=1 run_name=$(date +%F)
