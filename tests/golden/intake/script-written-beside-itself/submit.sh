cat > $PWD/job.sh <<EOF
torchrun --nproc-per-node 8 run_clm.py --model_name_or_path gpt2-xl --per_device_train_batch_size 4 --block_size 1024 --bf16
EOF
chmod +x job.sh
bash job.sh
