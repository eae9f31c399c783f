./runner/primus-cli direct -- train pretrain --config job.yaml --micro_batch_size 4
