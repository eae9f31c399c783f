#!/bin/bash
export OMP_NUM_THREADS=8
colossalai run --nproc_per_node 8 --hostfile hosts.txt benchmark.py -c 70b --shard_param --tp 8 --pp 2 -p 3d -g -x -b 16 --mbs 1 -l 4096 --zero 1 --sp 1
